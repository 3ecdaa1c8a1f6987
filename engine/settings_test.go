package engine

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/engine/quantity"
	"github.com/tidemark-engine/tidemark/readpolicies"
	"github.com/tidemark-engine/tidemark/scheduling"
)

func TestDefaultsAreValid(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	_, err := DefaultTopicConfig().resolve(registries{readpolicies.Builtin(), scheduling.Builtin()})
	if err != nil {
		t.Error(err)
	}
}

// Every setting that is shown can be given back as an override.
func TestShownIsParsed(t *testing.T) {
	other := TopicConfig{
		MaxEntriesPerLedger: 1, MaxBytesPerLedger: 1<<20 + 1, MaxLedgerAge: 3 * time.Hour, MinLedgerAge: time.Millisecond,
		RetentionBytes: 0, RetentionTime: 36 * time.Hour, MaxEntryBytes: 7, MaxPendingEntries: 8, MaxPendingBytes: 9,
		ReadPolicy: "extend-on-executor", Submission: "ordered-executor", Placement: "on-executor",
		MaxAckRanges: 11, SkipLostLedgers: true,
	}
	for _, config := range []TopicConfig{DefaultTopicConfig(), other} {
		overrides := map[string]string{}
		for key, choice := range choices(config, map[string]string{"read-policy": "x"}) {
			overrides[key] = choice.Value
			if want := map[bool]string{true: "topic", false: "engine"}[key == "read-policy"]; choice.From != want {
				t.Errorf("%s is from %s", key, choice.From)
			}
		}
		if got := slices.Sorted(maps.Keys(overrides)); !slices.Equal(got, slices.Sorted(slices.Values(SettingKeys()))) {
			t.Fatalf("keys %v", got)
		}
		back, err := (TopicConfig{}).With(overrides)
		if err != nil || back != config {
			t.Errorf("%+v became %+v, %v", config, back, err)
		}
	}
}

func TestOverridesAreStrict(t *testing.T) {
	for _, c := range []struct{ key, value, says string }{
		{"max-entries-per-ledger", "many", "whole number"},
		{"max-entries-per-ledger", "-1", "not from 0"},
		{"max-entries-per-ledger", "1.5", "whole number"},
		{"max-size-per-ledger", "10", "unit"},
		{"max-size-per-ledger", "unlimited", "below"},
		{"max-ledger-age", "10", "unit"},
		{"retention-time", "-5s", "duration"},
		{"retention-size", "-5MiB", "size"},
		{"max-entry-size", "0", "below"},
		{"max-pending-entries", "0", "not from 1"},
		{"skip-lost-ledgers", "yes", "true nor false"},
		{"read-polcy", "x", `"read-policy"`},
		{"submision", "x", `"submission"`},
		{"foo", "x", "there are max-entries-per-ledger, "},
		{"", "x", "there are"},
		{strings.Repeat("x", 300), "x", "there are"},
	} {
		_, err := DefaultTopicConfig().With(map[string]string{c.key: c.value})
		if !errors.Is(err, ErrInvalidSetting) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s=%s: %v, want one that says %s", c.key, c.value, err, c.says)
		}
	}
	_, err := DefaultTopicConfig().With(map[string]string{"max-ledger-age": "1", "retention-size": "1", "nothing": ""})
	for _, key := range []string{"max-ledger-age", "retention-size", "nothing"} {
		if !strings.Contains(err.Error(), key) {
			t.Errorf("not all problems are said at once, %s is missing: %v", key, err)
		}
	}
}

func TestUnknownChoicesListTheKnown(t *testing.T) {
	config := DefaultTopicConfig()
	config.ReadPolicy, config.Submission, config.Placement = "a", "b", "c"
	_, err := config.resolve(registries{readpolicies.Builtin(), scheduling.Builtin()})
	if !errors.Is(err, ErrInvalidSetting) {
		t.Fatal(err)
	}
	for _, name := range []string{"complete-at-lac", "extend-on-executor", "direct", "ordered-executor", "inline", "on-executor"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not offered: %v", name, err)
		}
	}
}

func TestChange(t *testing.T) {
	before := map[string]string{"a": "1", "b": "2"}
	after := change(before, map[string]string{"a": "", "b": " 3 ", "c": "4", "d": ""})
	if want := map[string]string{"b": "3", "c": "4"}; !maps.Equal(after, want) {
		t.Errorf("got %v, want %v", after, want)
	}
	if !maps.Equal(before, map[string]string{"a": "1", "b": "2"}) {
		t.Error("the map that others read was changed")
	}
	properties := withOverrides(map[string]string{"other": "x", overridePrefix + "a": "1"}, after)
	if !maps.Equal(overridesIn(properties), after) || properties["other"] != "x" {
		t.Errorf("properties %v", properties)
	}
}

func FuzzOverrides(f *testing.F) {
	f.Add("retention-time", "7d")
	f.Add("max-size-per-ledger", "1.5GiB")
	f.Fuzz(func(t *testing.T, key, text string) {
		config, err := DefaultTopicConfig().With(map[string]string{key: text})
		if err != nil {
			return
		}
		if err := config.Validate(); err != nil {
			t.Errorf("%s=%s was accepted: %v", key, text, err)
		}
		if config.RetentionBytes < quantity.Unlimited || config.RetentionTime < quantity.Unlimited {
			t.Errorf("%s=%s: %+v", key, text, config)
		}
	})
}
