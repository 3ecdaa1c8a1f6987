package spelling_test

import (
	"strings"
	"testing"

	"github.com/tidemark-engine/tidemark/engine/spelling"
)

func TestNearest(t *testing.T) {
	keys := []string{"server.grpc-address", "server.http-address", "log.level", "log.format"}
	for word, want := range map[string]string{
		"server.grcp-address":     "server.grpc-address",
		"sever.http-adress":       "server.http-address",
		"loglevel":                "log.level",
		"log.lvl":                 "log.level",
		"level":                   "log.level",
		"http":                    "server.http-address",
		"":                        "",
		"foo":                     "",
		"nothing-like-it":         "",
		strings.Repeat("x", 5000): "",
	} {
		if got := spelling.Nearest(word, keys); got != want {
			t.Errorf("%.40q: %q, want %q", word, got, want)
		}
	}
	if got := spelling.Nearest("word", nil); got != "" {
		t.Errorf("of no candidates: %q", got)
	}
}
