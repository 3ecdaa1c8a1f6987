package client

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// breaker ends the stream the first few times that messages come.
func breaker(f *fake, times int64, anew bool) func(*tidemarkv1.ProduceRequest) error {
	var left atomic.Int64
	left.Store(times)
	return func(frame *tidemarkv1.ProduceRequest) error {
		if len(frame.GetBatches()) == 0 || left.Add(-1) < 0 {
			return nil
		}
		if anew {
			go f.restart() // ends the connection, and with it this stream
		}
		return errCut
	}
}

// The stream breaks before messages were stored, or after that and before it was
// said: they are sent again, and are there once and in order.
func TestEachMessageOnceWhenStreamsBreak(t *testing.T) {
	for name, anew := range map[string]bool{"stream": false, "connection": true} {
		for _, afterStore := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := startFake(t, func(f *fake) { f.maxFrame = 64 << 10 })
					c := f.dial(Options{})
					defer f.close(c)
					began := time.Now()
					if afterStore {
						f.set(func(f *fake) { f.beforeAnswer = breaker(f, 3, anew) })
					} else {
						f.set(func(f *fake) { f.beforeStore = breaker(f, 3, anew) })
					}
					p := f.producer(c, ProducerOptions{MaxBatchMessages: 10})
					o := send(t, p, 0, 1000)
					if err := p.Flush(ctx()); err != nil {
						t.Fatal(err)
					}
					wantNumbered(t, f.all(), 1000)
					if stored, duplicates, failed := o.count(); failed > 0 || duplicates > 0 != afterStore || stored+duplicates != 1000 {
						t.Errorf("%d stored, %d duplicates, %d failed", stored, duplicates, failed)
					}
					for i, r := range o.receipts {
						if r.Sequence != uint64(i)+1 {
							t.Fatalf("answer %d is about sequence %d", i, r.Sequence)
						}
					}
					if took := time.Since(began); f.streams != 4 || !anew && took != 3*firstPause {
						t.Errorf("%d streams for 3 breaks, in %v", f.streams, took)
					}
				})
			})
		}
	}
}

// Many producers share a stream, and each goes on with what it had not heard of.
func TestManyProducersOverBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{Connections: 2})
		defer f.close(c)
		f.set(func(f *fake) { f.beforeAnswer = breaker(f, 5, false) })
		const producers, messages = 20, 50
		done := make(chan struct{})
		for range producers {
			p := f.producer(c, ProducerOptions{})
			go func() {
				for i := range messages {
					if r, err := p.Send(ctx(), text("%s %d", p.Name(), i)); err != nil || r.Sequence != uint64(i)+1 {
						t.Errorf("message %d: %+v, %v", i, r, err)
					}
				}
				done <- struct{}{}
			}()
		}
		for range producers {
			<-done
		}
		next := map[string]uint64{}
		for _, s := range f.stored {
			if next[s.producer]++; s.sequence != next[s.producer] {
				t.Fatalf("producer %s: sequence %d at place %d", s.producer, s.sequence, next[s.producer])
			}
		}
		if len(f.stored) != producers*messages {
			t.Errorf("%d messages are stored", len(f.stored))
		}
	})
}

// A producer without a name cannot repeat, and says so; the next message goes.
func TestAnonymousProducerLosesSight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{})
		defer f.close(c)
		p := f.producer(c, ProducerOptions{Anonymous: true})
		f.set(func(f *fake) { f.beforeAnswer = breaker(f, 1, false) })
		if _, err := p.Send(ctx(), text("0")); !errors.Is(err, sdk.ErrUnknownOutcome) {
			t.Errorf("%v", err)
		}
		if r, err := p.Send(ctx(), text("1")); err != nil || r.Duplicate {
			t.Errorf("%+v, %v", r, err)
		}
		wantNumbered(t, f.all(), 2)
	})
}

// While nobody is there messages wait, for as long as the options say and not
// much longer; what was sent by then may be stored.
func TestGivesUpAfterRetryFor(t *testing.T) {
	for _, limit := range []time.Duration{-1, time.Second, time.Minute} {
		t.Run(limit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startFake(t)
				c := f.dial(Options{RetryFor: limit})
				defer f.close(c)
				p := f.producer(c, ProducerOptions{})
				var hang chan struct{}
				f.set(func(f *fake) {
					hang = make(chan struct{})
					f.beforeAnswer = func(frame *tidemarkv1.ProduceRequest) error { <-hang; return errCut }
				})
				sent := send(t, p, 0, 1)
				synctest.Wait() // it is at the server, which does not answer
				unsent := send(t, p, 1, 1)
				close(hang)
				f.stop()
				began := time.Now()
				if err := p.Flush(ctx()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < limit || took > max(limit, 0)+long {
					t.Errorf("gave up after %v", took)
				}
				if err := sent.errs[0]; !errors.Is(err, sdk.ErrUnknownOutcome) || !errors.Is(err, sdk.ErrUnavailable) {
					t.Errorf("what was sent: %v", err)
				}
				if err := unsent.errs[0]; !errors.Is(err, sdk.ErrUnavailable) {
					t.Errorf("what was not: %v", err)
				}
				if _, err := c.Producer(ctx(), "demo", ProducerOptions{}); !errors.Is(err, sdk.ErrUnavailable) {
					t.Errorf("another producer: %v", err)
				}
				f.set(func(f *fake) { f.beforeAnswer = nil })
				f.start()
				time.Sleep(long) // until the connection is tried again
				if _, err := p.Send(ctx(), text("late")); err != nil {
					t.Errorf("when the server is back: %v", err)
				}
				if n := len(p.link.members()); n != 1 {
					t.Errorf("%d producers are with the link", n)
				}
			})
		})
	}
}

// Somebody else used the name while the connection was broken: what this one
// would send has sequences that the topic takes for duplicates.
func TestNameUsedByAnotherMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{})
		defer f.close(c)
		p := f.producer(c, ProducerOptions{Name: "loader"})
		if _, err := p.Send(ctx(), text("0")); err != nil {
			t.Fatal(err)
		}
		f.stop()
		synctest.Wait() // until the client knows
		f.set(func(f *fake) { f.last["loader"] = 9 })
		o := send(t, p, 1, 1)
		f.start()
		if err := p.Flush(ctx()); err != nil {
			t.Fatal(err)
		}
		if err := o.errs[0]; !errors.Is(err, reason.ErrProducerReplaced) || errors.Is(err, sdk.ErrUnknownOutcome) {
			t.Errorf("%v", err)
		}
		if _, err := p.Send(ctx(), text("2")); !errors.Is(err, reason.ErrProducerReplaced) {
			t.Errorf("the next one: %v", err)
		}
		if n := len(p.link.members()); n != 0 {
			t.Errorf("%d producers are with the link", n)
		}
	})
}

// A named producer goes on behind the last sequence, and repeats what it likes.
func TestNamedProducerBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		f.last["loader"] = 9
		c := f.dial(Options{})
		defer f.close(c)
		p := f.producer(c, ProducerOptions{Name: "loader"})
		if last, any := p.LastSequence(); last != 9 || !any || p.Name() != "loader" {
			t.Errorf("%d %v", last, any)
		}
		m := text("nine")
		m.Sequence = 9
		if r, err := p.Send(ctx(), m); err != nil || !r.Duplicate || r.Sequence != 9 {
			t.Errorf("%+v, %v", r, err)
		}
		if r, err := p.Send(ctx(), text("ten")); err != nil || r.Duplicate || r.Sequence != 10 {
			t.Errorf("%+v, %v", r, err)
		}
		m.Sequence = 20
		if r, err := p.Send(ctx(), m); err != nil || r.Sequence != 20 {
			t.Errorf("%+v, %v", r, err)
		}
		m.Sequence = 15
		if _, err := p.Send(ctx(), m); !errors.Is(err, reason.ErrProducerSequence) {
			t.Errorf("%v", err)
		}
	})
}
