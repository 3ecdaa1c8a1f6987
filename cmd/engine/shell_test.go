package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark-engine/tidemark/engine/config"
)

// outcome is what one command line did.
type outcome struct {
	code     int
	out, err string
}

// engineRun carries out a command line in this process.
func engineRun(t *testing.T, in string, arguments ...string) outcome {
	t.Helper()
	return engineRunIn(t, t.Context(), in, nil, arguments...)
}

func engineRunIn(t *testing.T, ctx context.Context, in string, environ []string, arguments ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(ctx, arguments, streams{in: strings.NewReader(in), out: &out, err: &errs, environ: environ})
	return outcome{code, out.String(), errs.String()}
}

func (o outcome) want(t *testing.T, code int, parts ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d; %s%s", o.code, code, o.out, o.err)
	}
	for _, part := range parts {
		if !strings.Contains(o.out+o.err, part) {
			t.Errorf("does not say %q: %s%s", part, o.out, o.err)
		}
	}
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		arguments string
		code      int
		says      string
	}{
		{"", exitSuccess, "Available Commands"},
		{"--help", exitSuccess, "Exit codes"},
		{"nosuch", exitUsage, "nosuch"},
		{"config", exitUsage, "which of them?"},
		{"config nosuch", exitUsage, `no command "nosuch"`},
		{"config nosuch", exitUsage, "see engine config --help"},
		{"topic create", exitUsage, "engine topic create TOPIC [KEY=VALUE...]"},
		{"cursor seek demo", exitUsage, "engine cursor seek TOPIC CURSOR START"},
		{"version --nosuch", exitUsage, "unknown flag"},
		{"version more", exitUsage, "more"},
		{"version -o xml", exitUsage, "neither table nor json"},
		{"version", exitSuccess, "platform"},
		{"serve --set nosuch", exitUsage, "is not KEY=VALUE"},
		{"serve --set nosuch=1", exitUsage, "no such key"},
		{"serve --grpc nowhere", exitUsage, "--grpc: server.grpc-address: \"nowhere\" is not HOST:PORT"},
		{"serve --config /nowhere.yaml", exitUsage, "no such file"},
		{"completion bash", exitSuccess, "complete"},
	} {
		t.Run(c.arguments, func(t *testing.T) {
			engineRun(t, "", strings.Fields(c.arguments)...).want(t, c.code, c.says)
		})
	}
}

func TestConfigCheck(t *testing.T) {
	good := file(t, "good.yaml", "log:\n  level: debug\n")
	bad := file(t, "bad.yaml", "log:\n  level: loud\ncache:\n  ttl: 30\n")
	engineRun(t, "", "config", "check", good).want(t, exitSuccess, "valid")
	engineRun(t, "", "config", "check", bad).want(t, exitUsage, "bad.yaml:2: log.level", "bad.yaml:4: cache.ttl")
	engineRun(t, "", "config", "check", "-c", good, "--set", "topics.read-policy=nosuch").want(t, exitUsage, "complete-at-lac, extend-on-executor")
	engineRunIn(t, t.Context(), "", []string{"TIDEMARK_CONFIG=" + bad}, "config", "check").want(t, exitUsage, "bad.yaml:2")

	mixed := engineRun(t, "", "config", "check", bad, "--set", "store", "--set", "nosuch", "--set", "=", "--grpc", "nowhere")
	mixed.want(t, exitUsage)
	var order []string
	for line := range strings.Lines(mixed.err) {
		order = append(order, strings.Join(strings.Fields(strings.TrimPrefix(line, "engine: "))[:2], " "))
	}
	if got, want := strings.Join(order, ", "), bad+":2: log.level:, "+bad+":4: cache.ttl:, --grpc: server.grpc-address:, --set: no, --set: nosuch:, --set: store:"; got != want {
		t.Errorf("problems are in the order %s, want %s", got, want)
	}
	for range 5 { // flags come from a map
		same(t, "the same order", engineRun(t, "", "config", "check", bad, "--grpc", "nowhere", "--http", "nowhere", "--set", "=").err,
			engineRun(t, "", "config", "check", bad, "--grpc", "nowhere", "--http", "nowhere", "--set", "=").err)
	}

	result := engineRun(t, "", "config", "check", "-o", "json", bad)
	result.want(t, exitUsage)
	var report problemReport
	if err := json.Unmarshal([]byte(result.out), &report); err != nil || report.Valid || len(report.Problems) != 2 || report.Problems[0].Key != "log.level" {
		t.Errorf("report %+v, %v from %s", report, err, result.out)
	}
}

func TestConfigShow(t *testing.T) {
	path := file(t, "c.toml", "[cache]\nsize = '1GiB'\n")
	result := engineRunIn(t, t.Context(), "", []string{"TIDEMARK_LOG_LEVEL=warn"}, "config", "show", path, "--http", "", "--data", "/d", "-o", "json")
	result.want(t, exitSuccess)
	var settings []config.Setting
	if err := json.Unmarshal([]byte(result.out), &settings); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range settings {
		if s.Origin != "default" {
			got[s.Key] = s.Value + " from " + s.Origin
		}
	}
	want := map[string]string{
		"cache.size": "1GiB from " + path + ":2", "log.level": "warn from TIDEMARK_LOG_LEVEL",
		"server.http-address": " from --http", "data-dir": "/d from --data",
	}
	for key, text := range want {
		if got[key] != text {
			t.Errorf("%s is %q, want %q", key, got[key], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("set: %v", got)
	}
	engineRun(t, "", "config", "show").want(t, exitSuccess, "topics.read-policy", "reload", "restart")
}

func TestConfigSchemaAndExample(t *testing.T) {
	if schema := engineRun(t, "", "config", "schema"); !json.Valid([]byte(schema.out)) || !strings.Contains(schema.out, `"ordered-executor"`) {
		t.Errorf("schema: %.200s", schema.out)
	}
	example := engineRun(t, "", "config", "example")
	engineRun(t, "", "config", "check", file(t, "e.yaml", example.out)).want(t, exitSuccess)
}
