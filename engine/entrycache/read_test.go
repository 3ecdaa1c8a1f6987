package entrycache

import (
	"context"
	"errors"
	"testing"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

var background = context.Background()

func TestReadServesWhatIsThere(t *testing.T) {
	c, s := newCache(t, nil), newStorage(1)
	c.Add(1, 0, payloads(1, 0, 9))
	c.Add(1, 20, payloads(1, 20, 29))
	read(background, c, s, 5, 50, 0).want(t, 1, 5, 5)
	gap := read(background, c, s, 10, 50, 0)
	r := s.one(t)
	if r.what.First != 10 || r.what.Last != 19 {
		t.Fatalf("storage was asked for %+v, want the missing entries only", r.what)
	}
	r.all()
	gap.want(t, 1, 10, 10)
	read(background, c, s, 0, 50, 0).want(t, 1, 0, 30)
}

func TestReadMerges(t *testing.T) {
	c, s := newCache(t, nil), newStorage(1)
	leader := read(background, c, s, 0, 99, 0)
	equal := read(background, c, s, 0, 99, 0)
	inside := read(background, c, s, 10, 19, 0)
	over := read(background, c, s, 40, 139, 0)
	r := s.one(t)
	r.all()
	leader.want(t, 1, 0, 100)
	equal.want(t, 1, 0, 100)
	inside.want(t, 1, 10, 10)
	over.want(t, 1, 40, 60)
	if st := c.Stats(); st.Merged != 3 || st.ReadsInFlight != 0 || st.ReadBytes != 0 || st.Entries != 100 {
		t.Fatalf("%+v", st)
	}
}

func TestReadWithLittleInCommonGetsItsOwn(t *testing.T) {
	c, s := newCache(t, nil), newStorage(1)
	read(background, c, s, 0, 99, 0)
	later := read(background, c, s, 90, 189, 0)
	if len(s.reads) != 2 {
		t.Fatalf("%d storage reads, want 2", len(s.reads))
	}
	(<-s.reads).all()
	(<-s.reads).all()
	later.want(t, 1, 90, 100)
}

func TestReadErrorsReachAll(t *testing.T) {
	c, s := newCache(t, nil), newStorage(1)
	leader, follower := read(background, c, s, 0, 9, 0), read(background, c, s, 2, 5, 0)
	s.one(t).done(nil, sdk.ErrCorrupt)
	for _, o := range []*outcome{leader, follower} {
		if o.calls != 1 || !errors.Is(o.err, sdk.ErrCorrupt) || o.payloads != nil {
			t.Fatalf("ended %d times with %v", o.calls, o.err)
		}
	}
	again := read(background, c, s, 0, 9, 0)
	s.one(t).all()
	again.want(t, 1, 0, 10)
}

func TestReadAnsweredTwiceByTheStore(t *testing.T) {
	c, s := newCache(t, nil), newStorage(1)
	o := read(background, c, s, 0, 9, 0)
	r := s.one(t)
	r.all()
	r.done(nil, sdk.ErrUnavailable)
	o.want(t, 1, 0, 10)
	if st := c.Stats(); st.ReadsInFlight != 0 || st.ReadBytes != 0 {
		t.Fatalf("%+v", st)
	}
}

func TestReadTooMuchOrNothingFromTheStore(t *testing.T) {
	c, s := newCache(t, nil), newStorage(1)
	o := read(background, c, s, 0, 9, 0)
	s.one(t).upTo(20)
	o.want(t, 1, 0, 10)
	empty := read(background, c, s, 30, 39, 0)
	s.one(t).done(nil, nil)
	empty.want(t, 1, 30, 0)
}

func TestReadCutsByBytes(t *testing.T) {
	c, s := newCache(t, nil), newStorage(1)
	whole := read(background, c, s, 0, 9, 0)
	small := &outcome{}
	c.Read(background, ReadRequest{Reader: s, Range: sdk.Range{First: 0, Last: 9, MaxBytes: 10}}, here, small.end)
	s.one(t).all()
	whole.want(t, 1, 0, 10)
	small.want(t, 1, 0, 2)
}

func TestReadFailsWhenItCannotStart(t *testing.T) {
	c, s := newCache(t, nil), newStorage(1)
	for refusal, want := range map[error]error{scheduling.ErrClosed: sdk.ErrClosed, scheduling.ErrFull: sdk.ErrBusy} {
		for name, start := range map[string]func(scheduling.Task) error{
			"at once": func(scheduling.Task) error { return refusal },
			"later": func(task scheduling.Task) error {
				task.(scheduling.Failer).Failed(refusal)
				return nil
			},
		} {
			o := &outcome{}
			c.Read(background, ReadRequest{Reader: s}, start, o.end)
			if o.calls != 1 || !errors.Is(o.err, refusal) || !errors.Is(o.err, want) {
				t.Fatalf("refused %s: ended %d times with %v, want %v", name, o.calls, o.err, want)
			}
		}
	}
	o := &outcome{}
	c.Read(background, ReadRequest{Reader: s, Range: sdk.Range{First: 3, Last: 2}}, here, o.end)
	if o.calls != 1 || !errors.Is(o.err, sdk.ErrInvalid) {
		t.Fatalf("ended %d times with %v", o.calls, o.err)
	}
	if st := c.Stats(); st.ReadsInFlight != 0 {
		t.Fatalf("%+v", st)
	}
}

func TestReadEndsAllWhenTheStartPanics(t *testing.T) {
	c, s := newCache(t, nil), newStorage(1)
	leader, follower := &outcome{}, &outcome{}
	panicked := func() (v any) {
		defer func() { v = recover() }()
		c.Read(background, ReadRequest{Reader: s}, func(scheduling.Task) error {
			c.Read(background, ReadRequest{Reader: s}, here, follower.end)
			panic("start")
		}, leader.end)
		return nil
	}()
	if panicked != "start" || leader.calls != 1 || leader.err == nil || follower.calls != 1 || follower.err == nil {
		t.Fatalf("panicked with %v; %+v, %+v", panicked, leader, follower)
	}
}

func TestReadAnswersAllWhenACallbackPanics(t *testing.T) {
	c, s := newCache(t, nil), newStorage(1)
	c.Read(background, ReadRequest{Reader: s}, here, func([][]byte, error) { panic("callback") })
	follower := read(background, c, s, 0, 0, 0)
	func() {
		defer func() { _ = recover() }()
		s.one(t).all()
	}()
	follower.want(t, 1, 0, 1)
}

// TestReadFromACallback would hang if a callback ran under a lock.
func TestReadFromACallback(t *testing.T) {
	c, s := newCache(t, nil), newStorage(1)
	inner := &outcome{}
	c.Read(background, ReadRequest{Reader: s, Range: sdk.Range{Last: 9}, Keep: true}, here, func([][]byte, error) {
		c.Read(background, ReadRequest{Reader: s, Range: sdk.Range{Last: 9}}, here, inner.end)
		c.Add(1, 10, payloads(1, 10, 19))
		c.Evict(c.epoch)
		_ = c.Configure(DefaultConfig())
	})
	s.one(t).all()
	inner.want(t, 1, 0, 10)
}

func TestReadIsNotKeptAfterTheLedgerWasDropped(t *testing.T) {
	c, s := newCache(t, nil), newStorage(1)
	o := read(background, c, s, 0, 9, 0)
	c.DropLedger(1)
	s.one(t).all()
	o.want(t, 1, 0, 10)
	if st := c.Stats(); st.Entries != 0 {
		t.Fatalf("%+v", st)
	}
}

func TestStatsCountEachReadOnce(t *testing.T) {
	c, s := newCache(t, nil), newStorage(1)
	c.Get(1, 0, 9, 0)
	read(background, c, s, 0, 9, 0)
	read(background, c, s, 0, 9, 0)
	s.one(t).all()
	c.Get(1, 0, 9, 0)
	read(background, c, s, 0, 9, 0)
	if st := c.Stats(); st.Hits != 2 || st.Misses != 2 || st.Merged != 1 {
		t.Fatalf("%+v", st)
	}
}
