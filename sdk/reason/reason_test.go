package reason_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// sentinels lists every exported sentinel; a new one belongs here and in the
// table.
func sentinels() []error {
	return []error{
		reason.ErrTopicNotFound, reason.ErrTopicExists, reason.ErrTerminated, reason.ErrTopicLimit,
		reason.ErrOwnerLost, reason.ErrCursorNotFound, reason.ErrCursorExists, reason.ErrReadInFlight,
		reason.ErrNoMoreEntries, reason.ErrPositionInvalid, reason.ErrProducerReplaced,
		reason.ErrProducerSequence, reason.ErrInvalidName, reason.ErrInvalidSetting,
		sdk.ErrLedgerNotFound, sdk.ErrEntryNotFound, sdk.ErrKeyNotFound, sdk.ErrFenced, sdk.ErrClosed,
		sdk.ErrVersionConflict, sdk.ErrUnsupported, sdk.ErrInvalid, sdk.ErrTooLarge, sdk.ErrFull,
		sdk.ErrBusy, sdk.ErrCorrupt, sdk.ErrUnavailable, sdk.ErrUnknownOutcome,
		context.Canceled, context.DeadlineExceeded,
	}
}

func TestEverySentinelCrossesAndComesBack(t *testing.T) {
	seen := map[reason.Reason]error{}
	for _, sentinel := range sentinels() {
		here := fmt.Errorf("topic demo: %w, do this", sentinel)
		r := reason.Of(here)
		if r == reason.Internal {
			t.Errorf("%v has no reason of its own", sentinel)
		}
		if other, twice := seen[r]; twice {
			t.Errorf("%v and %v share the reason %s", sentinel, other, r)
		}
		seen[r] = sentinel
		there := reason.Error(r, here.Error())
		if !errors.Is(there, sentinel) || there.Error() != here.Error() {
			t.Errorf("%s came back as %q, which is not %v", r, there, sentinel)
		}
		if reason.Of(there) != r {
			t.Errorf("%s became %s on a second way", r, reason.Of(there))
		}
	}
	if len(seen)+1 != len(reason.All()) {
		t.Errorf("%d sentinels for %d reasons", len(seen), len(reason.All()))
	}
}

func TestReasonsAreUpperSnake(t *testing.T) {
	form := regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*$`)
	for _, r := range reason.All() {
		if !form.MatchString(string(r)) {
			t.Errorf("%q", r)
		}
	}
}

func TestUnknown(t *testing.T) {
	if r := reason.Of(nil); r != "" {
		t.Errorf("nil has the reason %q", r)
	}
	if r := reason.Of(errors.New("something else")); r != reason.Internal {
		t.Errorf("a foreign error has the reason %q", r)
	}
	newer := reason.Error("FROM_THE_FUTURE", "what")
	if reason.Of(newer) != "FROM_THE_FUTURE" || newer.Error() != "what" {
		t.Errorf("a newer reason became %s %q", reason.Of(newer), newer)
	}
	both := fmt.Errorf("%w: %w", sdk.ErrFenced, sdk.ErrUnknownOutcome)
	if r := reason.Of(both); r != reason.UnknownOutcome {
		t.Errorf("an add of unknown outcome after fencing has the reason %s", r)
	}
}
