package server_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// routes lists the routes below /v1 as METHOD PATH: those of http.yaml, and
// those of text.go.
func routes(t *testing.T) []string {
	t.Helper()
	var all []string
	for file, form := range map[string]string{
		"../../sdk/proto/tidemark/v1/http.yaml": `(?m)^ +(get|put|post|patch|delete): (/v1\S+)$`,
		"text.go":                               `page\("([A-Z]+)", "(/v1[^"]+)"`,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(form).FindAllStringSubmatch(string(text), -1)
		if len(found) < 3 {
			t.Fatalf("%s names %d routes", file, len(found))
		}
		for _, route := range found {
			all = append(all, strings.ToUpper(route[1])+" "+route[2])
		}
	}
	return all
}
