package server_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"

	"github.com/tidemark-engine/tidemark/sdk/reason"
	"github.com/tidemark-engine/tidemark/sdk/wire"
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

// The reference names every route, and every reason with its status.
func TestHTTPReference(t *testing.T) {
	text, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range append(routes(t), "GET /", "GET /livez", "GET /readyz", "GET /metrics") {
		if !strings.Contains(string(text), "`"+route+"`") {
			t.Errorf("docs/http.md does not name %s", route)
		}
	}
	for _, r := range reason.All() {
		row := fmt.Sprintf(`(?m)^\| %d \|.*`+"`%s`", runtime.HTTPStatusFromCode(wire.Code(r)), r)
		if !regexp.MustCompile(row).Match(text) {
			t.Errorf("docs/http.md does not name %s with status %d", r, runtime.HTTPStatusFromCode(wire.Code(r)))
		}
	}
}
