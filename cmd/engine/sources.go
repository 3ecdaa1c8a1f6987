package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidemark-engine/tidemark/engine/config"
)

// sources collects the flags that say where the configuration comes from.
type sources struct {
	files    []string
	settings []string
	named    map[string]*string // flag that stands for a key: its text
}

// keysOfFlags names the keys that have a flag of their own.
func keysOfFlags() map[string]string {
	return map[string]string{
		"data":       "data-dir",
		"grpc":       "server.grpc-address",
		"http":       "server.http-address",
		"ready-file": "server.ready-file",
	}
}

// register adds the flags to a command.
func (s *sources) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringArrayVarP(&s.files, "config", "c", nil, "configuration `FILE` (.yaml, .toml, .json); may be repeated, the later one wins (environment: TIDEMARK_CONFIG)")
	flags.StringArrayVar(&s.settings, "set", nil, "set one key, `KEY=VALUE`, as in log.level=debug; may be repeated")
	s.named = map[string]*string{}
	for name, usage := range map[string]string{
		"data":       "directory where everything lives, `DIR`",
		"grpc":       "address to serve gRPC at, `HOST:PORT`; port 0 picks a free one",
		"http":       "address to serve HTTP at, `HOST:PORT`; empty turns it off",
		"ready-file": "`FILE` to write the addresses in use to once ready",
	} {
		s.named[name] = flags.String(name, "", usage+" (key "+keysOfFlags()[name]+")")
	}
}

// given returns what was said, of flags only those that were given.
func (s *sources) given(c *cobra.Command, sh *shell) config.Sources {
	given := config.Sources{Files: s.files, Environ: sh.environ, Choices: choices()}
	if path := sh.variable("TIDEMARK_CONFIG"); len(given.Files) == 0 && path != "" {
		given.Files = []string{path}
	}
	for name, text := range s.named {
		if c.Flags().Changed(name) {
			given.Flags = append(given.Flags, config.Flag{Name: "--" + name, Key: keysOfFlags()[name], Text: *text})
		}
	}
	for _, setting := range s.settings {
		key, text, found := strings.Cut(setting, "=")
		given.Flags = append(given.Flags, config.Flag{Name: "--set", Key: key, Text: text, Malformed: !found})
	}
	return given
}
