package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tidemark-engine/tidemark/engine/config"
)

func newConfig(sh *shell) *cobra.Command {
	return group("config", "Check and show the daemon's configuration",
		newConfigCheck(sh), newConfigShow(sh), newConfigSchema(sh), newConfigExample(sh))
}

// problemReport is config check as JSON.
type problemReport struct {
	Valid    bool          `json:"valid"`
	Problems []problemLine `json:"problems"`
}

type problemLine struct {
	Origin  string `json:"origin"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
}

func newConfigCheck(sh *shell) *cobra.Command {
	var from sources
	c := &cobra.Command{
		Use:   "check [FILE...]",
		Short: "Check a configuration without starting anything",
		Long: `Checks files, environment and flags as serve would read them, and lists all
that is wrong. Nothing is started and nothing is written.`,
		RunE: func(c *cobra.Command, files []string) error {
			from.files = append(from.files, files...)
			_, err := config.Load(from.given(c, sh))
			return sh.reportCheck(err)
		},
	}
	from.register(c)
	return c
}

// reportCheck says what Load found. Problems are the answer, not an accident.
func (sh *shell) reportCheck(err error) error {
	report := problemReport{Valid: err == nil, Problems: []problemLine{}}
	problems, listed := err.(config.Problems)
	for _, p := range problems {
		report.Problems = append(report.Problems, problemLine{p.Origin.String(), p.Key, p.Message})
	}
	if err != nil && (!listed || sh.output != "json") {
		return err
	}
	if errAnswer := sh.answer(report, func(t *table) { t.row("the configuration is valid") }); errAnswer != nil {
		return errAnswer
	}
	if err != nil {
		return fmt.Errorf("%w: %d problems", config.ErrInvalid, len(problems))
	}
	return nil
}

func newConfigShow(sh *shell) *cobra.Command {
	var from sources
	c := &cobra.Command{
		Use:   "show [FILE...]",
		Short: "Show every key, its value and who set it",
		Long: `Shows what serve would be configured with by the same files, environment and
flags. It does not ask a daemon: one that runs may have been given others.`,
		RunE: func(c *cobra.Command, files []string) error {
			from.files = append(from.files, files...)
			loaded, err := config.Load(from.given(c, sh))
			if err != nil {
				return err
			}
			settings := loaded.Settings()
			return sh.answer(settings, func(t *table) {
				t.head("key", "value", "from", "change takes")
				for _, s := range settings {
					takes := "restart"
					if s.Live {
						takes = "reload"
					}
					t.row(s.Key, s.Value, s.Origin, takes)
				}
			})
		},
	}
	from.register(c)
	return c
}

func newConfigSchema(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print a JSON schema of the configuration, for editors",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := config.Schema(choices())
			if err == nil {
				_, err = sh.out.Write(schema)
			}
			return err
		},
	}
}

func newConfigExample(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use:   "example",
		Short: "Print a configuration file with every key commented out",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := sh.out.Write(config.Example())
			return err
		},
	}
}
