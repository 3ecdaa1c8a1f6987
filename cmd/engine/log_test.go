package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tidemark-engine/tidemark/engine/config"
)

// talkative is an error that tells more with %+v, as those of some libraries.
type talkative struct{}

func (talkative) Error() string { return "no room" }

func (e talkative) Format(to fmt.State, _ rune) {
	fmt.Fprint(to, e.Error())
	if to.Flag('+') {
		fmt.Fprint(to, "\nstack trace")
	}
}

// TestErrorsAreLoggedAsMessages logs an error that carries a stack trace.
func TestErrorsAreLoggedAsMessages(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		log, _ := newLog(config.Log{Level: "info", Format: format}, &out)
		log.Info("here", "error", talkative{})
		log.Info("here", "error", fmt.Errorf("flush: %w", talkative{}), "none", error(nil))
		if got := out.String(); strings.Count(got, "no room") != 2 || strings.Contains(got, "stack trace") || strings.Count(got, "\n") != 2 {
			t.Errorf("%s:\n%s", format, got)
		}
	}
}
