package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func testOutline() *outline { return outlineOf(reflect.TypeFor[Config](), nil) }

// samples returns valid values of a key as people write them, none of them the
// default, no two the same.
func samples(t *testing.T, k *key) []string {
	t.Helper()
	candidates := map[kind][]string{
		kindText:     {"127.0.0.1:81", "127.0.0.1:82", "127.0.0.1:83"}, // addresses are texts, paths and names too
		kindFlag:     {"true", "false"},
		kindCount:    {"11", "12", "13"},
		kindRatio:    {"0.5", "0.25", "0.125"},
		kindSize:     {"13MiB", "14MiB", "15MiB", "33MiB", "34MiB", "35MiB"},
		kindDuration: {"11s", "12s", "13s"},
	}[k.kind]
	if len(k.choices) > 0 {
		candidates = k.choices
	}
	standard := format(k.value(reflect.ValueOf(Default())))
	var found []string
	for _, text := range candidates {
		if _, err := Load(Sources{Flags: []Flag{{Name: "--set", Key: k.path, Text: text}}}); err == nil && text != standard {
			found = append(found, text)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no sample for %s", k.path)
	}
	return found
}

// inFile writes one key in the syntax of the file name's ending.
func inFile(name string, k *key, text string) string {
	if k.kind == kindText || k.kind == kindSize || k.kind == kindDuration {
		text = fmt.Sprintf("%q", text)
	}
	parts := strings.Split(k.path, ".")
	switch filepath.Ext(name) {
	case ".yaml":
		out := ""
		for i, part := range parts {
			out += strings.Repeat("  ", i) + part + ":"
			if i < len(parts)-1 {
				out += "\n"
			}
		}
		return out + " " + text + "\n"
	case ".toml":
		if len(parts) > 1 {
			return fmt.Sprintf("[%s]\n%s = %s\n", parts[0], parts[1], text)
		}
		return fmt.Sprintf("%s = %s\n", parts[0], text)
	}
	out := text
	for i := len(parts) - 1; i >= 0; i-- {
		out = fmt.Sprintf("{%q: %s}", parts[i], out)
	}
	return out
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustLoad(t *testing.T, s Sources) *Loaded {
	t.Helper()
	l, err := Load(s)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return l
}

// expect checks the value and origin of one key, and that all others are as by
// default.
func expect(t *testing.T, l *Loaded, path, text, source string) {
	t.Helper()
	for _, s := range l.Settings() {
		want, origin := s.Default, "default"
		if s.Key == path {
			want, origin = text, source
		}
		if s.Value != want || !strings.HasPrefix(s.Origin, origin) {
			t.Errorf("%s is %s from %s, want %s from %s", s.Key, s.Value, s.Origin, want, origin)
		}
	}
}

func TestS054EveryKeyArrivesFromEverySource(t *testing.T) {
	variables := map[string]string{}
	for _, k := range testOutline().keys {
		text := samples(t, k)[0]
		for _, name := range []string{"c.yaml", "c.toml", "c.json"} {
			path := write(t, name, inFile(name, k, text))
			l := mustLoad(t, Sources{Files: []string{path}})
			expect(t, l, k.path, text, path)
			if origin := l.origin(k.path); origin.Line < 1 {
				t.Errorf("%s in %s: no line", k.path, name)
			}
		}
		expect(t, mustLoad(t, Sources{Environ: []string{k.environment() + "=" + text}}), k.path, text, k.environment())
		expect(t, mustLoad(t, Sources{Flags: []Flag{{Name: "--set", Key: k.path, Text: text}}}), k.path, text, "--set")
		if other, taken := variables[k.environment()]; taken {
			t.Errorf("%s and %s share the variable %s", k.path, other, k.environment())
		}
		if foreign(k.environment()) {
			t.Errorf("%s has a variable that is passed over: %s", k.path, k.environment())
		}
		variables[k.environment()] = k.path
	}
}

// Of the sources that say something the last one wins, whichever they are.
func TestS053PrecedenceOverAllKeysAndSources(t *testing.T) {
	for _, k := range testOutline().keys {
		texts := samples(t, k)
		at := func(i int) string { return texts[i%len(texts)] }
		for mask := range 16 {
			var s Sources
			want, source := "", "default"
			if mask&1 != 0 {
				path := write(t, "first.yaml", inFile("first.yaml", k, at(0)))
				s.Files, want, source = append(s.Files, path), at(0), path
			}
			if mask&2 != 0 {
				path := write(t, "second.json", inFile("second.json", k, at(1)))
				s.Files, want, source = append(s.Files, path), at(1), path
			}
			if mask&4 != 0 {
				s.Environ, want, source = []string{k.environment() + "=" + at(2)}, at(2), k.environment()
			}
			if mask&8 != 0 {
				s.Flags, want, source = []Flag{{Name: "--set", Key: k.path, Text: at(0)}}, at(0), "--set"
			}
			if want == "" {
				want = format(k.value(reflect.ValueOf(Default())))
			}
			expect(t, mustLoad(t, s), k.path, want, source)
		}
	}
}

func TestS055RemovedKeyIsBackAtItsDefault(t *testing.T) {
	for _, k := range testOutline().keys {
		path := write(t, "c.yaml", inFile("c.yaml", k, samples(t, k)[0]))
		before := mustLoad(t, Sources{Files: []string{path}})
		if err := os.WriteFile(path, []byte("log:\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		after := mustLoad(t, Sources{Files: []string{path}})
		if after.Config != Default() {
			t.Errorf("%s is not back at its default", k.path)
		}
		_, changes := Reload(before.Config, after.Config)
		if len(changes) != 1 || changes[0].Key != k.path || changes[0].Live != k.live {
			t.Errorf("%s: changes %+v", k.path, changes)
		}
	}
}

func TestS056EmptyVariableCountsAsNotSet(t *testing.T) {
	for _, k := range testOutline().keys {
		path := write(t, "c.yaml", inFile("c.yaml", k, samples(t, k)[0]))
		l := mustLoad(t, Sources{Files: []string{path}, Environ: []string{k.environment() + "="}})
		expect(t, l, k.path, samples(t, k)[0], path)
	}
}

func TestS057SamePathTwiceIsAnError(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "real"), link); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{link, filepath.Join(dir, "real"), filepath.Join(link, "..", "real")} {
		_, err := Load(Sources{Flags: []Flag{{Name: "--data", Key: "data-dir", Text: filepath.Join(dir, "real")}, {Name: "--ready-file", Key: "server.ready-file", Text: other}}})
		wantProblems(t, err, "server.ready-file: is the same place as data-dir")
	}
	// Also where nothing is yet.
	_, err := Load(Sources{Flags: []Flag{{Name: "--data", Key: "data-dir", Text: filepath.Join(dir, "real", "new")}, {Name: "--ready-file", Key: "server.ready-file", Text: filepath.Join(link, "new")}}})
	wantProblems(t, err, "server.ready-file: is the same place as data-dir")
	mustLoad(t, Sources{Flags: []Flag{{Name: "--data", Key: "data-dir", Text: link}, {Name: "--ready-file", Key: "server.ready-file", Text: filepath.Join(link, "ready")}}})
}

func TestDefaultsAreValid(t *testing.T) {
	for _, k := range testOutline().keys {
		value := k.value(reflect.ValueOf(Default()))
		if err := k.check(value); err != nil {
			t.Errorf("%s: %v", k.path, err)
		}
		if back, err := k.parse(format(value)); err != nil || back != value {
			t.Errorf("%s: %v is written %s and read back as %v, %v", k.path, value, format(value), back, err)
		}
		if k.path == "" || strings.HasSuffix(k.path, ".") || k.doc == "" {
			t.Errorf("key %q: name and doc are needed", k.path)
		}
	}
}

func TestReloadTakesLiveChangesOnly(t *testing.T) {
	next := Default()
	next.Log.Level, next.Log.Format = "debug", "json"
	next.Topics.RetentionTime = time.Hour
	got, changes := Reload(Default(), next)
	if got.Log.Level != "debug" || got.Log.Format != "text" || got.Topics.RetentionTime != time.Hour {
		t.Errorf("in force: %+v", got)
	}
	text, _ := json.Marshal(changes)
	want := `[{"key":"log.level","from":"info","to":"debug","live":true},` +
		`{"key":"log.format","from":"text","to":"json","live":false},` +
		`{"key":"topics.retention-time","from":"unlimited","to":"1h","live":true}]`
	if string(text) != want {
		t.Errorf("changes %s\nwant    %s", text, want)
	}
}
