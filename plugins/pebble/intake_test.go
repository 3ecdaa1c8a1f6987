package pebble

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

func newTestIntake() *intake {
	return &intake{maxEntryBytes: 100, maxPendingBytes: 1000, wake: make(chan struct{}, 1)}
}

func nothing(sdk.EntryID, error) {}

func batch(first sdk.EntryID, count, size int) sdk.Batch {
	b := sdk.Batch{First: first, Done: nothing}
	for range count {
		b.Entries = append(b.Entries, make([]byte, size))
	}
	return b
}

// When the committer wakes, and after how long.
func TestAwait(t *testing.T) {
	for name, c := range map[string]struct {
		units           int
		patience, alarm time.Duration
		meanwhile       func(in *intake, l *ledger)
		want            time.Duration
		ended           bool
	}{
		"something is there":        {1, 0, 0, func(in *intake, l *ledger) { _ = in.add(l, batch(0, 1, 1)) }, 0, false},
		"the cohort comes back":     {3, time.Second, 0, func(in *intake, l *ledger) { time.Sleep(10 * time.Millisecond); _ = in.add(l, batch(0, 3, 1)) }, 10 * time.Millisecond, false},
		"half of it does":           {4, time.Second, 0, func(in *intake, l *ledger) { _ = in.add(l, batch(0, 3, 1)) }, time.Second, false},
		"it is late":                {3, time.Second, 0, func(in *intake, l *ledger) { time.Sleep(time.Minute); _ = in.add(l, batch(0, 1, 1)) }, time.Minute, false},
		"a kick while gathering":    {3, time.Second, 0, func(in *intake, _ *ledger) { time.Sleep(time.Millisecond); in.kick() }, time.Millisecond, false},
		"a kick while idle":         {1, 0, 0, func(in *intake, _ *ledger) { time.Sleep(time.Hour); in.kick() }, time.Hour, false},
		"the alarm":                 {1, 0, time.Minute, func(*intake, *ledger) {}, time.Minute, false},
		"the end":                   {1, 0, 0, func(in *intake, _ *ledger) { time.Sleep(time.Hour); in.end() }, time.Hour, true},
		"the end with a rest to do": {1, 0, 0, func(in *intake, l *ledger) { _ = in.add(l, batch(0, 1, 1)); in.end() }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, began := newTestIntake(), time.Now()
				go c.meanwhile(in, newLedger(0))
				synctest.Wait()
				open := in.await(c.units, c.patience, c.alarm)
				if took := time.Since(began); took != c.want || open == c.ended {
					t.Errorf("woke after %v, open %v; want %v, %v", took, open, c.want, !c.ended)
				}
			})
		})
	}
}

func TestGather(t *testing.T) {
	for _, c := range []struct {
		cohort   int
		lastSync time.Duration
		units    int
		patience time.Duration
	}{
		{0, 0, 0, 0},
		{1, 100 * time.Microsecond, 1, 100 * time.Microsecond},
		{16, 100 * time.Microsecond, 16, 100 * time.Microsecond},
		{500, 100 * time.Microsecond, 1, 0}, // They need longer to come back than a sync takes.
		{500, 2 * time.Millisecond, 500, 2 * time.Millisecond},
	} {
		committer := &committer{cohort: c.cohort, lastSync: c.lastSync}
		if units, patience := committer.gather(); units != c.units || patience != c.patience {
			t.Errorf("cohort %d, sync %v: wait for %d, %v; want %d, %v", c.cohort, c.lastSync, units, patience, c.units, c.patience)
		}
	}
}

func TestIntakeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		batches []sdk.Batch
		want    error
	}{
		"an entry too large":   {[]sdk.Batch{batch(0, 1, 101)}, sdk.ErrTooLarge},
		"a batch too large":    {[]sdk.Batch{batch(0, 11, 100)}, sdk.ErrTooLarge},
		"too much at once":     {[]sdk.Batch{batch(0, 9, 100), batch(9, 2, 100)}, sdk.ErrBusy},
		"a gap":                {[]sdk.Batch{batch(1, 1, 1)}, sdk.ErrInvalid},
		"what was there":       {[]sdk.Batch{batch(0, 2, 1), batch(1, 1, 1)}, sdk.ErrInvalid},
		"nothing":              {[]sdk.Batch{batch(0, 0, 0)}, sdk.ErrInvalid},
		"what comes behind it": {[]sdk.Batch{batch(0, 1, 101), batch(0, 1, 1)}, sdk.ErrTooLarge},
	} {
		in, l := newTestIntake(), newLedger(0)
		var last error
		for _, b := range c.batches {
			if last = in.add(l, b); last == nil && len(l.queue) > 0 {
				last = l.queue[len(l.queue)-1].err
			}
		}
		if !errors.Is(last, c.want) {
			t.Errorf("%s: %v, want %v", name, last, c.want)
		}
	}
}

// A queue that is larger than a group is taken in parts and in order, and the
// counts come out even.
func TestTakeInParts(t *testing.T) {
	in, l, other := newTestIntake(), newLedger(0), newLedger(1)
	for i := range 7 {
		_ = in.add(l, batch(sdk.EntryID(i), 1, 100))
	}
	_ = in.add(other, batch(0, 1, 100))
	var g group
	var got []sdk.EntryID
	for range 10 {
		in.take(&g, 250)
		for _, taken := range g.ledgers {
			for _, r := range taken.taken {
				got = append(got, sdk.EntryID(taken.id)*100+r.batch.First)
			}
		}
		in.finished(&g)
		g.reset()
	}
	want := []sdk.EntryID{0, 1, 2, 3, 4, 5, 6, 100}
	if len(got) != len(want) {
		t.Fatalf("taken %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("taken %v, want %v", got, want)
		}
	}
	if in.units != 0 || in.bytes != 0 || l.outstanding != 0 || other.outstanding != 0 {
		t.Errorf("%d units, %d bytes, %d and %d outstanding are left", in.units, in.bytes, l.outstanding, other.outstanding)
	}
}
