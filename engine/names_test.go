package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
)

func TestNames(t *testing.T) {
	for _, good := range []string{
		"a", "orders", "tenant/space/topic-1", "größe", "数据", "a.b~c:d_e", "...", strings.Repeat("x", 255),
	} {
		if err := CheckName("topic", good); err != nil {
			t.Errorf("%q is refused: %v", good, err)
		}
	}
	for bad, rule := range map[string]string{
		"":                       "at least one",
		strings.Repeat("x", 256): "at most 255 bytes",
		"\xff":                   "UTF-8",
		"a b":                    "' '",
		"a\x00":                  `'\x00'`,
		"a\\b":                   `'\\'`,
		"#producers":             "'#'",
		"a%2f":                   "'%'",
		"/a":                     "not empty",
		"a/":                     "not empty",
		"a//b":                   "not empty",
		"/":                      "not empty",
		".":                      `".."`,
		"..":                     `".."`,
		"../etc":                 `".."`,
		"a/../b":                 `".."`,
		"a/./b":                  `".."`,
	} {
		err := CheckName("topic", bad)
		if !errors.Is(err, ErrInvalidName) || !errors.Is(err, sdk.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		} else if !strings.Contains(err.Error(), rule) {
			t.Errorf("%q: the message does not say %q: %v", bad, rule, err)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("a/b")
	f.Add("../x")
	f.Fuzz(func(t *testing.T, name string) {
		if CheckName("topic", name) != nil {
			return
		}
		if name == "" || len(name) > MaxNameBytes || strings.ContainsAny(name, "\\\x00 #%") || strings.Contains("/"+name+"/", "/../") {
			t.Errorf("%q was accepted", name)
		}
	})
}
