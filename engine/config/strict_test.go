package config

import (
	"errors"
	"strings"
	"testing"
)

// wantProblems checks that err is an ErrInvalid with exactly these problems,
// each recognised by a part of its line.
func wantProblems(t *testing.T, err error, parts ...string) {
	t.Helper()
	if !errors.Is(err, ErrInvalid) {
		t.Errorf("error %v, want problems %q", err, parts)
		return
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(parts) {
		t.Errorf("%d problems, want %d:\n%v", len(lines), len(parts), err)
		return
	}
	for i, part := range parts {
		if !strings.Contains(lines[i], part) {
			t.Errorf("problem %q does not say %q", lines[i], part)
		}
	}
}

func TestStrictFiles(t *testing.T) {
	for _, c := range []struct {
		name, text string
		problems   []string
	}{
		{"a.yaml", "server:\n  grcp-address: x:1\n", []string{"a.yaml:2: server.grcp-address: no such key; the nearest is server.grpc-address"}},
		{"a.yaml", "servr:\n  grpc-address: x:1\n", []string{"a.yaml:1: servr: no such key; the nearest is server"}},
		{"a.yaml", "topics:\n  max-entries-per-ledger: true\n", []string{"a.yaml:2: topics.max-entries-per-ledger: true (a truth value) is not a whole number"}},
		{"a.yaml", "topics:\n  max-entries-per-ledger: \"5\"\n", []string{"5 (a text) is not a whole number"}},
		{"a.yaml", "topics:\n  max-entries-per-ledger: 5.5\n", []string{"5.5 (a number) is not a whole number"}},
		{"a.yaml", "topics:\n  max-entries-per-ledger: -1\n", []string{"-1 is below 0, the least"}},
		{"a.yaml", "cache:\n  ttl: 30\n", []string{"a.yaml:2: cache.ttl: \"30\" has no unit"}},
		{"a.yaml", "cache:\n  ttl: soon\n", []string{"is not a duration"}},
		{"a.yaml", "cache:\n  ttl: -1s\n", []string{"is not a duration"}},
		{"a.yaml", "cache:\n  ttl: unlimited\n", []string{"cache.ttl: cannot be unlimited"}},
		{"a.yaml", "cache:\n  size: 64\n", []string{"\"64\" has no unit"}},
		{"a.yaml", "cache:\n  size: 2PiB\n", []string{"2PiB is above 1TiB, the most"}},
		{"a.yaml", "cache:\n  watermark: 2\n", []string{"2 is above 1, the most"}},
		{"a.yaml", "cache:\n  watermark: .nan\n", []string{"is not a number"}},
		{"a.yaml", "store:\n  acknowledge-before-sync: yes please\n", []string{"is not true or false"}},
		{"a.yaml", "store:\n  acknowledge-before-sync: 1\n", []string{"is not true or false"}},
		{"a.yaml", "log:\n  level: loud\n", []string{"\"loud\" is not one of debug, info, warn, error"}},
		{"a.yaml", "log:\n  level:\n", []string{"no value given"}},
		{"a.yaml", "log: info\n", []string{"log: is a section"}},
		{"a.yaml", "log:\n  level:\n    deep: 1\n", []string{"log.level: is a single value, not a section"}},
		{"a.yaml", "log:\n  level: [info]\n", []string{"(a list) is not a text"}},
		{"a.yaml", "log.level: info\n", []string{"has dots"}},
		{"a.yaml", "data-dir: 5\n", []string{"5 (a number) is not a text; put it in quotes"}},
		{"a.yaml", "data-dir: \"\"\n", []string{"data-dir: must not be empty"}},
		{"a.yaml", "server:\n  grpc-address: localhost\n", []string{"is not HOST:PORT"}},
		{"a.yaml", "server:\n  grpc-address: localhost:99999\n", []string{"is not HOST:PORT"}},
		{"a.yaml", "log:\n  level: info\nlog:\n  level: warn\n", []string{"already defined"}},
		{"a.yaml", "log: {level: info\n", []string{"a.yaml: cannot be read: "}},
		{"a.yaml", "- log\n", []string{"cannot be read"}},
		{"a.json", `{"log": {"level": "info"}, "log": {"level": "warn"}}`, []string{"log: is there twice", "log.level: is there twice"}},
		{"a.json", `{"cache": {"ttl": 30}}`, []string{"a.json:1: cache.ttl: \"30\" has no unit"}},
		{"a.json", `{"cache": {"ttl": 30}`, []string{"cannot be read"}},
		{"a.toml", "[log]\nlevel = \"loud\"\n", []string{"a.toml:2: log.level"}},
		{"a.toml", "[log]\nlevel = 1979-05-27\n", []string{"is not a text"}},
		{"a.yaml", "colour: red\n", []string{"a.yaml:1: colour: no such key; engine config example lists all"}},
		{"a.toml", "[log]\nlevl = 'info'\n", []string{"a.toml:2: log.levl: no such key; the nearest is log.level"}},
		{"a.ini", "", []string{"must end in .yaml, .toml or .json"}},
		// All at once.
		{"a.yaml", "log:\n  level: loud\n  colour: red\ncache:\n  ttl: 30\n", []string{"a.yaml:2: log.level", "a.yaml:3: log.colour", "a.yaml:5: cache.ttl"}},
		// Values that are wrong only beside each other.
		{"a.yaml", "topics:\n  max-entry-size: 16MiB\n", []string{"server.max-message-size: 16MiB must be at least"}},
		{"a.yaml", "store:\n  memtable-size: 16MiB\n", []string{"topics.max-entry-size: 5MiB must be at most a quarter of store.memtable-size: 4MiB"}},
		{"a.yaml", "topics:\n  min-ledger-age: 5h\n", []string{"a.yaml:2: topics.min-ledger-age: 5h must be below topics.max-ledger-age, which is 4h"}},
		{"a.yaml", "server:\n  http-address: 127.0.0.1:7420\n", []string{"is also server.grpc-address"}},
	} {
		_, err := Load(Sources{Files: []string{write(t, c.name, c.text)}})
		t.Run(c.text, func(t *testing.T) { wantProblems(t, err, c.problems...) })
	}
}

func TestFilesThatChangeNothing(t *testing.T) {
	for _, c := range [][2]string{
		{"a.yaml", ""}, {"a.yaml", "# nothing\n"}, {"a.yaml", "server:\nlog:\n"}, {"a.yaml", "server: {}\n"},
		{"a.json", "{}"}, {"a.json", `{"server": null}`}, {"a.toml", ""}, {"a.toml", "[server]\n"},
	} {
		if l := mustLoad(t, Sources{Files: []string{write(t, c[0], c[1])}}); l.Config != Default() {
			t.Errorf("%s with %q changes something", c[0], c[1])
		}
	}
	// An empty section in a later file keeps what an earlier one said.
	first, second := write(t, "1.yaml", "log:\n  level: warn\n"), write(t, "2.yaml", "log:\n")
	if l := mustLoad(t, Sources{Files: []string{first, second}}); l.Config.Log.Level != "warn" {
		t.Error("an empty section wiped the section of an earlier file")
	}
}

func TestStrictEnvironmentAndFlags(t *testing.T) {
	_, err := Load(Sources{
		Environ: []string{
			"PATH=/bin", "TIDEMARK_SERVER=localhost:7420", "TIDEMARK_CONFIG=x", "TIDEMARK_PORT=tcp://10.0.0.1:7420",
			"TIDEMARK_PORT_7420_TCP_ADDR=10.0.0.1", "TIDEMARK_SERVICE_HOST=10.0.0.1", // as Kubernetes sets them
			"TIDEMARK_LOG_LEVL=info", "TIDEMARK_COLOUR=red", "TIDEMARK_CACHE_TTL=30", "TIDEMARK_STORE_ACKNOWLEDGE_BEFORE_SYNC=1",
		},
		Flags: []Flag{
			{Name: "--grpc", Key: "server.grpc-address", Text: "here"}, {Name: "--set", Key: "log.levl", Text: "info"}, {Name: "--set", Key: "log", Text: "info"},
			{Name: "--set", Key: "limits.max-topics", Text: "many"}, {Name: "--set", Key: "data-dir", Text: ""},
			{Name: "--set", Key: "nosuch", Malformed: true},
		},
	})
	wantProblems(t, err,
		`TIDEMARK_CACHE_TTL: cache.ttl: "30" has no unit`,
		"TIDEMARK_COLOUR: no such variable; there is one for each key",
		"TIDEMARK_LOG_LEVL: no such variable; the nearest is TIDEMARK_LOG_LEVEL",
		`TIDEMARK_STORE_ACKNOWLEDGE_BEFORE_SYNC: store.acknowledge-before-sync: "1" is neither true nor false`,
		`--grpc: server.grpc-address: "here" is not HOST:PORT`,
		"--set: data-dir: must not be empty",
		`--set: limits.max-topics: "many" is not a whole number`,
		"--set: log: is a section; name a key of it",
		"--set: log.levl: no such key; the nearest is log.level",
		"--set: nosuch: is not KEY=VALUE, as in log.level=debug")
}

func TestChoicesOfTheProgram(t *testing.T) {
	choices := map[string][]string{"topics.read-policy": {"complete-at-lac", "new-one"}}
	mustLoad(t, Sources{Choices: choices, Flags: []Flag{{Name: "--set", Key: "topics.read-policy", Text: "new-one"}}})
	_, err := Load(Sources{Choices: choices, Flags: []Flag{{Name: "--set", Key: "topics.read-policy", Text: "other"}}})
	wantProblems(t, err, `"other" is not one of complete-at-lac, new-one`)
}

func TestFilesThatCannotBeRead(t *testing.T) {
	huge := write(t, "huge.yaml", "# "+strings.Repeat("x", maxFileBytes)+"\n")
	_, err := Load(Sources{Files: []string{"/nowhere/c.yaml", t.TempDir() + "/", huge}})
	wantProblems(t, err, "/nowhere/c.yaml: no such file", "is a directory", "larger than 1 MiB")
}

// Whatever stands in a file or variable gives a configuration or problems,
// never a panic, and a configuration that is valid by itself.
func FuzzLoad(f *testing.F) {
	f.Add("yaml", "log:\n  level: info\n", "TIDEMARK_CACHE_TTL=1s")
	f.Add("json", `{"cache": {"ttl": "30s"}}`, "TIDEMARK_=")
	f.Add("toml", "[log]\nlevel = 'info'\n", "x")
	f.Fuzz(func(t *testing.T, ending, text, variable string) {
		o := testOutline()
		l, problems := o.fileLayer("c."+ending, []byte(text))
		e, more := o.environmentLayer([]string{variable})
		if len(problems)+len(more) > 0 {
			if Problems(append(problems, more...)).Error() == "" {
				t.Error("a problem without a message")
			}
			return
		}
		loaded := &Loaded{Config: Default(), outline: o, origins: map[string]Origin{}}
		if err := loaded.merge([]*layer{l, e}); err != nil {
			t.Errorf("checked layers do not merge: %v", err)
		}
	})
}
