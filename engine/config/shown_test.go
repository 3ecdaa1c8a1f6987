package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write tidemark.example.yaml")

const exampleFile = "../../tidemark.example.yaml"

func TestExampleUpToDate(t *testing.T) {
	if *update {
		if err := os.WriteFile(exampleFile, Example(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(exampleFile)
	if err != nil || !bytes.Equal(stored, Example()) {
		t.Errorf("tidemark.example.yaml is not up to date: run make generate (%v)", err)
	}
}

func TestExampleChangesNothing(t *testing.T) {
	if l := mustLoad(t, Sources{Files: []string{write(t, "e.yaml", string(Example()))}}); len(l.origins) != 0 {
		t.Errorf("the example sets %v", l.origins)
	}
	// With every line uncommented it says all keys with their defaults.
	all := regexp.MustCompile(`(?m)^( *)#([a-z])`).ReplaceAllString(string(Example()), "$1$2")
	l := mustLoad(t, Sources{Files: []string{write(t, "e.yaml", all)}})
	if l.Config != Default() || len(l.origins) != len(l.outline.keys) {
		t.Errorf("uncommented: %d of %d keys, %+v", len(l.origins), len(l.outline.keys), l.Config)
	}
}

func TestSchema(t *testing.T) {
	text, err := Schema(map[string][]string{"topics.read-policy": {"complete-at-lac", "other"}})
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	for _, k := range testOutline().keys {
		at := root
		for _, part := range strings.Split(k.path, ".") {
			if at["additionalProperties"] != false {
				t.Errorf("%s: unknown keys are allowed beside it", k.path)
			}
			at, _ = at["properties"].(map[string]any)[part].(map[string]any)
		}
		if at == nil || at["description"] != k.doc {
			t.Errorf("%s: no schema, or without its doc: %v", k.path, at)
			continue
		}
		if pattern, has := at["pattern"].(string); has && !regexp.MustCompile(pattern).MatchString(at["default"].(string)) {
			t.Errorf("%s: the default %v does not match %s", k.path, at["default"], pattern)
		}
		if k.path == "topics.read-policy" && fmt.Sprint(at["enum"]) != "[complete-at-lac other]" {
			t.Errorf("choices of the program: %v", at["enum"])
		}
	}
}

func TestSecretIsNeverShown(t *testing.T) {
	const text = "hunter2"
	type withSecret struct {
		Password Secret `key:"password" doc:"For the test."`
	}
	o := outlineOf(reflect.TypeFor[withSecret](), nil)
	l, problems := o.fileLayer("c.yaml", []byte("password: "+text+"\n"))
	secret, _ := l.values["password"].(Secret)
	if len(problems) > 0 || secret.Reveal() != text {
		t.Fatalf("not read: %v %v", l.values, problems)
	}
	var out bytes.Buffer
	config := withSecret{secret}
	fmt.Fprintf(&out, "%v %+v %#v %s %s", config, config, config, secret, format(secret))
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "config", config, "secret", secret)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "config", config, "secret", secret)
	encoded, err := json.Marshal(config)
	out.Write(encoded)
	if err != nil || strings.Contains(out.String(), text) {
		t.Errorf("shown, or not encoded (%v): %s", err, &out)
	}
	if NewSecret("").String() != "" {
		t.Error("an empty secret looks like one")
	}
	_, problems = o.fileLayer("c.yaml", []byte("password: ["+text+"]\n"))
	if len(problems) != 1 || strings.Contains(problems.Error(), text) {
		t.Errorf("shown in a problem: %v", problems)
	}
}
