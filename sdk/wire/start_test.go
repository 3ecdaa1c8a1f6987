package wire

import (
	"errors"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
)

func TestParseStart(t *testing.T) {
	for text, want := range map[string]string{
		"earliest":                  `edge:EDGE_EARLIEST`,
		"latest":                    `edge:EDGE_LATEST`,
		"3:7":                       `at:{ledger:3 entry:7}`,
		"0:-1":                      `at:{entry:-1}`,
		"@billing":                  `cursor:"billing"`,
		"2030-01-31":                `time:{seconds:1896048000}`,
		"2030-01-31T01:00:00+01:00": `time:{seconds:1896048000}`,
	} {
		s, err := ParseStart(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := plain(s.String()); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "@", "3", "3:", "-1:0", "3:-2", "noon", "2030-13-01", "\xff"} {
		if s, err := ParseStart(text); !errors.Is(err, sdk.ErrInvalid) {
			t.Errorf("%q is %v, %v", text, s, err)
		}
	}
}

// plain takes out the double spaces with which protobuf keeps people from
// comparing its text form.
func plain(text string) string {
	var out []byte
	for i := range len(text) {
		if text[i] != ' ' || (i > 0 && text[i-1] != ' ') {
			out = append(out, text[i])
		}
	}
	return string(out)
}
