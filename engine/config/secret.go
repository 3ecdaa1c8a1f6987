package config

import "log/slog"

// Secret is a text that is never shown: not printed, logged, encoded or
// described. [Secret.Reveal] is the only way to it.
type Secret struct{ text string }

const hidden = "(hidden)"

// NewSecret returns a secret that reveals text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the text itself.
func (s Secret) Reveal() string { return s.text }

// String hides the text, but says whether there is one.
func (s Secret) String() string {
	if s.text == "" {
		return ""
	}
	return hidden
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the text from logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
