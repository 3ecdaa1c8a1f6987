package entrycache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/tidemark-engine/tidemark/sdk"
)

// limited turns caching off as well: the limit holds all the same (P#26296).
func limited(c *Config) { c.MaxBytes, c.MaxReadBytes, c.MaxWaitingReads = 0, 100, 3 }

func TestP26296LimiterQueuesInOrderWithCachingOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, limited), newStorage(1)
		a := read(t.Context(), c, s, 0, 9, 60)
		b := read(t.Context(), c, s, 10, 19, 60)
		d := read(t.Context(), c, s, 20, 29, 30) // would fit, and waits its turn
		if st := c.Stats(); st.ReadsInFlight != 1 || st.ReadBytes != 60 || st.Waiting != 2 {
			t.Fatalf("%+v", st)
		}
		s.one(t).all()
		synctest.Wait()
		a.want(t, 1, 0, 10)
		if st := c.Stats(); st.ReadsInFlight != 2 || st.ReadBytes != 90 || st.Waiting != 0 {
			t.Fatalf("%+v", st)
		}
		(<-s.reads).all()
		(<-s.reads).all()
		b.want(t, 1, 10, 10)
		d.want(t, 1, 20, 10)
	})
}

func TestP23482LimiterAdmitsAnOversizeReadWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, limited), newStorage(1)
		small := read(t.Context(), c, s, 0, 0, 1)
		large := read(t.Context(), c, s, 1, 9, 5000)
		behind := read(t.Context(), c, s, 10, 10, 1)
		s.one(t).all()
		synctest.Wait()
		small.want(t, 1, 0, 1)
		if st := c.Stats(); st.ReadsInFlight != 1 || st.ReadBytes != 5000 || st.Waiting != 1 {
			t.Fatalf("%+v", st)
		}
		s.one(t).all()
		synctest.Wait()
		large.want(t, 1, 1, 9)
		s.one(t).all()
		behind.want(t, 1, 10, 1)
		if st := c.Stats(); st.ReadsInFlight != 0 || st.ReadBytes != 0 || st.Waiting != 0 {
			t.Fatalf("%+v", st)
		}
	})
}

func TestLimiterRefusesWhenTheQueueIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, limited), newStorage(1)
		var waiting []*outcome
		for i := range sdk.EntryID(4) {
			waiting = append(waiting, read(t.Context(), c, s, i*10, i*10+9, 100))
		}
		refused := read(t.Context(), c, s, 50, 59, 100)
		if refused.calls != 1 || !errors.Is(refused.err, sdk.ErrBusy) {
			t.Fatalf("ended %d times with %v", refused.calls, refused.err)
		}
		for i, o := range waiting {
			s.one(t).all()
			synctest.Wait()
			o.want(t, 1, sdk.EntryID(i*10), 10)
		}
	})
}

func TestLimiterForgetsACancelledRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, limited), newStorage(1)
		ctx, cancel := context.WithCancel(t.Context())
		first := read(t.Context(), c, s, 0, 9, 60)
		gone := read(ctx, c, s, 10, 19, 60)
		next := read(t.Context(), c, s, 20, 29, 40)
		r := s.one(t)
		cancel()
		synctest.Wait()
		if gone.calls != 1 || !errors.Is(gone.err, context.Canceled) {
			t.Fatalf("ended %d times with %v", gone.calls, gone.err)
		}
		s.one(t).all() // nobody stands before it any more
		next.want(t, 1, 20, 10)
		r.all()
		first.want(t, 1, 0, 10)
		if st := c.Stats(); st.ReadsInFlight != 0 || st.Waiting != 0 {
			t.Fatalf("%+v", st)
		}
	})
}

func TestLimiterRaisedLetsWaitingReadsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, limited), newStorage(1)
		for i := range sdk.EntryID(4) {
			read(t.Context(), c, s, i*10, i*10+9, 100)
		}
		config := DefaultConfig()
		config.MaxReadBytes = 0
		if err := c.Configure(config); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if st := c.Stats(); st.ReadsInFlight != 4 || st.Waiting != 0 || len(s.reads) != 4 {
			t.Fatalf("%+v, %d storage reads", st, len(s.reads))
		}
	})
}

func TestLimiterEndsAllWhenTheExecutorIsClosed(t *testing.T) {
	config := DefaultConfig()
	config.MaxReadBytes, config.MaxWaitingReads = 100, 100_000
	c, err := New(config, closedExecutor{})
	if err != nil {
		t.Fatal(err)
	}
	s := newStorage(1)
	first := read(background, c, s, 0, 0, 100)
	var waiting []*outcome
	for i := sdk.EntryID(1); i < 10_000; i++ {
		waiting = append(waiting, read(background, c, s, i, i, 100))
	}
	s.one(t).all()
	first.want(t, 1, 0, 1)
	for _, o := range waiting {
		if o.calls != 1 || !errors.Is(o.err, sdk.ErrClosed) {
			t.Fatalf("ended %d times with %v", o.calls, o.err)
		}
	}
	if st := c.Stats(); st.ReadsInFlight != 0 || st.ReadBytes != 0 || st.Waiting != 0 {
		t.Fatalf("%+v", st)
	}
}

func TestLimiterEstimates(t *testing.T) {
	for _, e := range []struct {
		what  sdk.Range
		given int64
		want  int64
	}{
		{sdk.Range{First: 0, Last: 9}, 500, 500},
		{sdk.Range{First: 0, Last: 9}, 0, 10 * defaultEntryBytes},
		{sdk.Range{First: 0, Last: 9, MaxBytes: 1000}, 0, 1000},
		{sdk.Range{First: 0, Last: 1<<63 - 1, MaxBytes: 1000}, 0, 1000},
	} {
		r := ReadRequest{Range: e.what, EstimatedBytes: e.given}
		if got := r.estimate(); got != e.want {
			t.Errorf("%+v with %d given: %d, want %d", e.what, e.given, got, e.want)
		}
	}
}
