package engine

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxNameBytes is the longest name of a topic, cursor or producer.
const MaxNameBytes = 255

// CheckName says whether name can be the name of a topic, cursor or producer
// (what, for the message): valid UTF-8 of 1 to [MaxNameBytes] bytes, made of
// letters, digits and - _ . ~ : / where the segments between slashes are
// neither empty nor "." nor "..". [ErrInvalidName].
func CheckName(what, name string) error {
	if rule := brokenRule(name); rule != "" {
		return fmt.Errorf("%w: %s %.300q: %s", ErrInvalidName, what, name, rule)
	}
	return nil
}

// brokenRule returns the rule that name breaks, or "".
func brokenRule(name string) string {
	switch {
	case name == "":
		return "a name has at least one character"
	case len(name) > MaxNameBytes:
		return fmt.Sprintf("a name has at most %d bytes, this one has %d", MaxNameBytes, len(name))
	case !utf8.ValidString(name):
		return "a name is valid UTF-8"
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.~:/", r) {
			return fmt.Sprintf("a name is made of letters, digits and - _ . ~ : /, it cannot hold %q", r)
		}
	}
	for segment := range strings.SplitSeq(name, "/") {
		switch segment {
		case "":
			return `the segments between "/" are not empty`
		case ".", "..":
			return `no segment between "/" is "." or ".."`
		}
	}
	return ""
}
