package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidemark-engine/tidemark/engine/spelling"
)

// overridePrefix marks the properties of a managed ledger that are overrides.
const overridePrefix = "config/"

// With returns c with the overrides applied: text by key, see [SettingKeys].
// All problems are reported at once, an unknown key with what it may have been
// meant for.
// The result is valid but for the names of choices. [ErrInvalidSetting].
func (c TopicConfig) With(overrides map[string]string) (TopicConfig, error) {
	settings := map[string]setting{}
	for _, s := range topicSettings() {
		settings[s.key] = s
	}
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(overrides)) {
		s, known := settings[key]
		if !known {
			problems = append(problems, unknownSetting(key))
		} else if err := s.parse(&c, overrides[key]); err != nil {
			problems = append(problems, fmt.Errorf("%w: %s: %w", ErrInvalidSetting, key, err))
		}
	}
	if len(problems) > 0 {
		return c, errors.Join(problems...)
	}
	return c, c.Validate()
}

func unknownSetting(key string) error {
	keys := SettingKeys()
	if nearest := spelling.Nearest(key, keys); nearest != "" {
		return fmt.Errorf("%w: %q is unknown, the nearest is %q", ErrInvalidSetting, key, nearest)
	}
	return fmt.Errorf("%w: %.100q is unknown; there are %s", ErrInvalidSetting, key, strings.Join(keys, ", "))
}

// Choice is one setting in force, and who said so.
type Choice struct {
	Value string `json:"value"`
	// From is "topic" for an override and "engine" otherwise.
	From string `json:"from"`
}

// choices describes the settings in force.
func choices(inForce TopicConfig, overrides map[string]string) map[string]Choice {
	all := map[string]Choice{}
	for _, s := range topicSettings() {
		from := "engine"
		if _, overridden := overrides[s.key]; overridden {
			from = "topic"
		}
		all[s.key] = Choice{Value: s.show(&inForce), From: from}
	}
	return all
}

// change returns overrides with changes applied; an empty text removes the key.
func change(overrides, changes map[string]string) map[string]string {
	next := maps.Clone(overrides)
	if next == nil {
		next = map[string]string{}
	}
	for key, text := range changes {
		if text = strings.TrimSpace(text); text == "" {
			delete(next, key)
		} else {
			next[key] = text
		}
	}
	return next
}

// spell writes overrides as people write them.
func spell(overrides map[string]string) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(overrides)) {
		words = append(words, key+"="+overrides[key])
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, " ")
}

// overridesIn picks the overrides out of a managed ledger's properties.
func overridesIn(properties map[string]string) map[string]string {
	overrides := map[string]string{}
	for key, text := range properties {
		if key, found := strings.CutPrefix(key, overridePrefix); found {
			overrides[key] = text
		}
	}
	return overrides
}

// withOverrides returns properties with exactly these overrides in them.
func withOverrides(properties, overrides map[string]string) map[string]string {
	next := map[string]string{}
	for key, text := range properties {
		if !strings.HasPrefix(key, overridePrefix) {
			next[key] = text
		}
	}
	for key, text := range overrides {
		next[overridePrefix+key] = text
	}
	return next
}
