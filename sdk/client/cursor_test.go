package client

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

func opened(next int) *tidemarkv1.ConsumeResponse {
	return &tidemarkv1.ConsumeResponse{Frame: &tidemarkv1.ConsumeResponse_Opened{Opened: &tidemarkv1.ConsumeOpened{Next: at(next)}}}
}

func sentEntries(from, to int) *tidemarkv1.ConsumeResponse {
	return &tidemarkv1.ConsumeResponse{Frame: &tidemarkv1.ConsumeResponse_Entries{Entries: run(from, to)}}
}

func answered(id uint64, err error) *tidemarkv1.ConsumeResponse {
	return &tidemarkv1.ConsumeResponse{Frame: &tidemarkv1.ConsumeResponse_Answer{Answer: &tidemarkv1.Answer{Id: id, Error: wire.Failure(err)}}}
}

func beat(next int) *tidemarkv1.ConsumeResponse {
	return &tidemarkv1.ConsumeResponse{Frame: &tidemarkv1.ConsumeResponse_Heartbeat{
		Heartbeat: &tidemarkv1.Heartbeat{LastConfirmed: at(next - 1), Next: at(next)},
	}}
}

// station is the server's end of a consume stream.
type station struct {
	t      testing.TB
	stream consumeServer
	open   *tidemarkv1.ConsumeOpen
	// permits are all that came, acks and seeks the ids of the others.
	permits     permits
	acks, seeks []uint64
}

// meet answers the open.
func meet(t testing.TB, s consumeServer, next int) *station {
	first, err := s.Recv()
	if err != nil || first.GetOpen() == nil {
		t.Errorf("%v, %v", first, err)
		return nil
	}
	st := &station{t: t, stream: s, open: first.GetOpen()}
	st.send(opened(next))
	return st
}

func (s *station) send(frames ...*tidemarkv1.ConsumeResponse) {
	for _, frame := range frames {
		if err := s.stream.Send(frame); err != nil {
			s.t.Error(err)
		}
	}
}

// until receives requests until done says so; false if the client leaves.
func (s *station) until(done func() bool) bool {
	for !done() {
		r, err := s.stream.Recv()
		if err != nil {
			return false
		}
		switch f := r.GetFrame().(type) {
		case *tidemarkv1.ConsumeRequest_Permits:
			s.permits.entries += f.Permits.GetEntries()
			s.permits.bytes += f.Permits.GetBytes()
		case *tidemarkv1.ConsumeRequest_Acknowledge:
			s.acks = append(s.acks, f.Acknowledge.GetId())
		case *tidemarkv1.ConsumeRequest_Seek:
			s.seeks = append(s.seeks, f.Seek.GetId())
		default:
			s.t.Errorf("%v", r)
		}
	}
	return true
}

// linger receives until the client leaves.
func (s *station) linger() error { s.until(func() bool { return false }); return nil }

// stations serves the n-th stream with the n-th of them.
func (f *fake) stations(serve ...func(s *station) error) {
	f.consume = func(n int, s consumeServer) error {
		st := meet(f.t, s, 0)
		if st == nil || n > len(serve) {
			return fmt.Errorf("stream %d: %w", n, sdk.ErrCorrupt)
		}
		return serve[n-1](st)
	}
}

func (f *fake) cursor(c *Client, o CursorOptions) *Cursor {
	f.t.Helper()
	u, err := c.Cursor(ctx(), "demo", "one", o)
	if err != nil {
		f.t.Fatal(err)
	}
	return u
}

// want ranges over batches until it has seen enough letters.
func want(t testing.TB, u *Cursor, all string) {
	t.Helper()
	var got string
	for b, err := range u.Batches(ctx()) {
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		if got += letters(b); len(got) >= len(all) {
			break
		}
	}
	if got != all {
		t.Errorf("%q, want %q", got, all)
	}
}

// What a new stream sends again because it was not acknowledged does not come
// twice, and what was asked for is asked for again.
func TestCursorGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		f.stations(
			func(s *station) error {
				s.send(sentEntries(0, 5))
				s.until(func() bool { return len(s.acks) == 2 })
				return errCut
			},
			func(s *station) error {
				if !s.open.GetMustExist() {
					t.Error("the cursor would be made anew")
				}
				s.until(func() bool { return s.permits.entries > 0 && len(s.acks) == 2 })
				if s.permits.entries != 100 || s.acks[0] >= s.acks[1] {
					t.Errorf("%+v", s)
				}
				s.send(sentEntries(2, 4), sentEntries(4, 8), answered(s.acks[1], nil))
				s.until(func() bool { return s.permits.entries == 106 })
				s.send(beat(8))
				return s.linger()
			})
		c := f.dial(Options{})
		defer f.close(c)
		u := f.cursor(c, CursorOptions{WindowEntries: 100})
		want(t, u, "abcde")
		first := make(chan error)
		go func() { first <- u.Acknowledge(ctx(), sdk.Position{Ledger: 1, Entry: 1}) }()
		if err := errors.Join(u.AcknowledgeUpTo(ctx(), sdk.Position{Ledger: 1}), <-first); err != nil {
			t.Error(err)
		}
		want(t, u, "fgh.")
		if err := u.Close(ctx()); err != nil {
			t.Error(err)
		}
		if err := u.AcknowledgeUpTo(ctx(), sdk.Position{}); !errors.Is(err, sdk.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}

// A failed acknowledgement fails alone.
func TestCursorAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		f.stations(func(s *station) error {
			s.until(func() bool { return len(s.acks) == 3 })
			s.send(answered(s.acks[1], reason.ErrPositionInvalid), answered(s.acks[2], nil)) // the first one went well
			return s.linger()
		})
		c := f.dial(Options{})
		defer f.close(c)
		u := f.cursor(c, CursorOptions{})
		answers := make([]chan error, 3)
		for i := range answers {
			answers[i] = make(chan error)
			go func() { answers[i] <- u.AcknowledgeUpTo(ctx(), sdk.Position{Entry: sdk.EntryID(i)}) }()
			synctest.Wait()
		}
		for i, answer := range answers {
			if err := <-answer; errors.Is(err, reason.ErrPositionInvalid) != (i == 1) || err != nil && i != 1 {
				t.Errorf("%d: %v", i, err)
			}
		}
	})
}

// After a seek nothing comes from before, not even the rest of a batch. One that
// failed changes nothing.
func TestCursorSeek(t *testing.T) {
	for name, failure := range map[string]error{"done": nil, "failed": reason.ErrPositionInvalid} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startFake(t)
				f.stations(func(s *station) error {
					s.send(sentEntries(0, 5), sentEntries(5, 10))
					s.until(func() bool { return len(s.seeks) == 1 })
					s.send(sentEntries(10, 12), answered(s.seeks[0], failure))
					s.send(sentEntries(0, 15))
					return s.linger()
				})
				c := f.dial(Options{})
				defer f.close(c)
				u := f.cursor(c, CursorOptions{})
				synctest.Wait()
				var got string
				for e, err := range u.Entries(ctx()) {
					if err != nil {
						t.Fatal(err)
					}
					if got += string(e.Payload); got == "abc" {
						if err := u.Seek(ctx(), Earliest()); !errors.Is(err, failure) {
							t.Fatal(err)
						}
					}
					if len(got) == 15 {
						break
					}
				}
				expected := "abcabcdefghijkl"
				if failure != nil {
					expected = "abcdefghijklmno"
				}
				if got != expected {
					t.Errorf("%q, want %q", got, expected)
				}
			})
		})
	}
}

// Somebody moved the cursor back by another way: what comes then comes again.
func TestCursorMovedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		f.stations(
			func(s *station) error { s.send(sentEntries(0, 3)); return errCut },
			func(s *station) error {
				s.send(sentEntries(0, 5), sentEntries(1, 3))
				return s.linger()
			})
		c := f.dial(Options{})
		defer f.close(c)
		want(t, f.cursor(c, CursorOptions{}), "abcdebc")
	})
}

// The server gets permits for what was ranged over, and never for more than the
// window.
func TestCursorWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		more := make(chan struct{})
		var seen []permits
		f.stations(func(s *station) error {
			s.until(func() bool { return s.permits.entries > 0 })
			seen = append(seen, s.permits)
			s.send(sentEntries(0, 6), sentEntries(6, 10))
			<-more
			s.until(func() bool { return s.permits.entries == 20 })
			seen = append(seen, s.permits)
			return s.linger()
		})
		c := f.dial(Options{})
		defer f.close(c)
		u := f.cursor(c, CursorOptions{WindowEntries: 10, WindowBytes: 1000})
		synctest.Wait()
		for b, err := range u.Batches(ctx()) {
			if err != nil || letters(b) != "abcdef" {
				t.Errorf("%q, %v", letters(b), err)
			}
			break
		}
		synctest.Wait()
		close(more)
		want(t, u, "ghij")
		synctest.Wait()
		bytes := uint64(10 * 3) // a letter is three bytes
		if len(seen) != 2 || seen[0] != (permits{10, 1000}) || seen[1] != (permits{20, 1000 + bytes}) {
			t.Errorf("%v", seen)
		}
	})
}

// A cursor that nobody ranges over keeps one heartbeat, not all.
func TestHeartbeatsDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		f.stations(func(s *station) error {
			s.send(sentEntries(0, 1))
			for range 1000 {
				time.Sleep(time.Second)
				s.send(beat(1))
			}
			return s.linger()
		})
		c := f.dial(Options{})
		defer f.close(c)
		u := f.cursor(c, CursorOptions{})
		time.Sleep(1001 * time.Second)
		synctest.Wait()
		u.mu.Lock()
		n := len(u.queue)
		u.mu.Unlock()
		if n != 2 {
			t.Errorf("%d batches are kept", n)
		}
		want(t, u, "a.")
	})
}

// Leaving the loop over entries in the middle of a batch loses none.
func TestCursorLeaveInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		f.stations(func(s *station) error { s.send(sentEntries(0, 7), sentEntries(7, 10)); return s.linger() })
		c := f.dial(Options{})
		defer f.close(c)
		u := f.cursor(c, CursorOptions{})
		var got string
		for len(got) < 10 {
			for e, err := range u.Entries(ctx()) {
				if err != nil {
					t.Fatal(err)
				}
				if got += string(e.Payload); len(got)%2 == 0 {
					break
				}
			}
		}
		if got != "abcdefghij" {
			t.Errorf("%q", got)
		}
	})
}

// Whoever opens the cursor elsewhere ends this one, and what it waits for.
func TestCursorTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		f.stations(func(s *station) error {
			s.until(func() bool { return len(s.acks) == 1 })
			return reason.ErrReadInFlight
		})
		c := f.dial(Options{})
		defer f.close(c)
		u := f.cursor(c, CursorOptions{})
		if err := u.AcknowledgeUpTo(ctx(), sdk.Position{}); !errors.Is(err, reason.ErrReadInFlight) {
			t.Errorf("%v", err)
		}
		for i, err := range []error{only(u.Batches(ctx())), only(u.Entries(ctx())), u.Seek(ctx(), Latest())} {
			if !errors.Is(err, reason.ErrReadInFlight) {
				t.Errorf("%d: %v", i, err)
			}
		}
		if err := u.Close(ctx()); err != nil {
			t.Error(err)
		}
	})
}

func TestCursorNotOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{})
		defer f.close(c)
		for _, want := range []error{reason.ErrTopicNotFound, reason.ErrCursorNotFound, sdk.ErrUnavailable} {
			f.consume = func(int, consumeServer) error { return want }
			if u, err := c.Cursor(ctx(), "demo", "one", CursorOptions{MustExist: true}); !errors.Is(err, want) || u != nil {
				t.Errorf("%v, %v", u, err)
			}
		}
		if _, err := c.Cursor(ctx(), "demo", "one", CursorOptions{WindowBytes: -1}); !errors.Is(err, sdk.ErrInvalid) {
			t.Errorf("%v", err)
		}
	})
}

// An ephemeral cursor is gone with its stream; the new one begins where the old
// one stood, not where it had begun.
func TestEphemeralCursorGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		f.consume = func(n int, stream consumeServer) error {
			s := meet(t, stream, 4)
			if n == 1 {
				return errCut // nothing came yet
			}
			if s.open.GetStart().GetAt().GetEntry() != 4 || s.open.GetMustExist() || !s.open.GetEphemeral() {
				t.Errorf("%v", s.open)
			}
			s.send(sentEntries(4, 6))
			return s.linger()
		}
		c := f.dial(Options{})
		defer f.close(c)
		want(t, f.cursor(c, CursorOptions{From: Latest(), Ephemeral: true}), "ef")
	})
}

// A terminated topic has an end; what was read can be acknowledged still.
func TestCursorReachesTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		f.stations(func(s *station) error {
			s.send(sentEntries(0, 2), &tidemarkv1.ConsumeResponse{Frame: &tidemarkv1.ConsumeResponse_End{
				End: &tidemarkv1.End{Cause: tidemarkv1.EndCause_END_CAUSE_TERMINATED, Resume: at(2)},
			}})
			s.until(func() bool { return len(s.acks) == 1 })
			s.send(answered(s.acks[0], nil))
			return s.linger()
		})
		c := f.dial(Options{})
		defer f.close(c)
		u := f.cursor(c, CursorOptions{})
		var got string
		for e, err := range u.Entries(ctx()) {
			if err != nil {
				t.Fatal(err)
			}
			got += string(e.Payload)
		}
		if err := u.AcknowledgeUpTo(ctx(), sdk.Position{Ledger: 1, Entry: 1}); err != nil || got != "ab" {
			t.Errorf("%q, %v", got, err)
		}
	})
}
