package client

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// A producer that cannot be opened says why, and leaves nothing behind.
func TestOpenRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{})
		defer f.close(c)
		for _, want := range []error{reason.ErrTopicNotFound, reason.ErrInvalidName, reason.ErrTerminated} {
			f.set(func(f *fake) { f.onOpen = func(*tidemarkv1.ProduceOpen) error { return fmt.Errorf("no: %w", want) } })
			if p, err := c.Producer(ctx(), "demo", ProducerOptions{}); !errors.Is(err, want) || p != nil {
				t.Errorf("%v, %v", p, err)
			}
		}
		if n := len(c.links[0].members()); n != 0 {
			t.Errorf("%d producers are with the link", n)
		}
	})
}

// What goes away by itself is tried again, and only for so long.
func TestOpenRefusedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{})
		defer f.close(c)
		refusals := 3
		f.set(func(f *fake) {
			f.onOpen = func(*tidemarkv1.ProduceOpen) error {
				if refusals--; refusals >= 0 {
					return fmt.Errorf("not yet: %w", sdk.ErrBusy)
				}
				return nil
			}
		})
		f.producer(c, ProducerOptions{})
		if f.opens != 4 {
			t.Errorf("opened %d times", f.opens)
		}
		refusals = 1 << 30
		if _, err := c.Producer(ctx(), "demo", ProducerOptions{}); !errors.Is(err, sdk.ErrBusy) {
			t.Errorf("%v", err)
		}
	})
}

// A message that the server refuses fails with its error; all others are stored,
// in order and known where, also those that were on their way together with it.
func TestRefusedMessageAmongOthers(t *testing.T) {
	for name, anonymous := range map[string]bool{"named": false, "anonymous": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startFake(t, func(f *fake) { f.maxFrame = 64 << 10 })
				f.onBatch = func(b *tidemarkv1.ProduceBatch) error {
					if b.GetFirstSequence()%10 == 0 {
						return fmt.Errorf("sequence %d: %w", b.GetFirstSequence(), sdk.ErrTooLarge)
					}
					return nil
				}
				c := f.dial(Options{})
				defer f.close(c)
				began := time.Now()
				p := f.producer(c, ProducerOptions{MaxBatchMessages: 1, Anonymous: anonymous})
				o := send(t, p, 1, 100)
				if err := p.Flush(ctx()); err != nil {
					t.Fatal(err)
				}
				if stored, duplicates, failed := o.count(); stored != 90 || duplicates != 0 || failed != 10 {
					t.Errorf("%d stored, %d duplicates, %d failed", stored, duplicates, failed)
				}
				for i, err := range o.errs {
					if refused := (i+1)%10 == 0; refused != errors.Is(err, sdk.ErrTooLarge) || errors.Is(err, sdk.ErrUnknownOutcome) {
						t.Errorf("message %d: %v", i+1, err)
					}
				}
				if _, err := p.Send(ctx(), text("one more")); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > 0 || f.streams != 1 {
					t.Errorf("it took %v and %d streams", took, f.streams)
				}
				last := uint64(0)
				for _, s := range f.stored {
					if s.sequence <= last {
						t.Errorf("%d behind %d", s.sequence, last)
					}
					last = s.sequence
				}
			})
		})
	}
}

// A store that failed one message takes later ones only after it, or in a new
// session: all are sent again, in order.
func TestPassingFailureIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{})
		defer f.close(c)
		broken := 0
		f.set(func(f *fake) {
			f.onOpen = func(*tidemarkv1.ProduceOpen) error { broken = 0; return nil }
			f.onBatch = func(b *tidemarkv1.ProduceBatch) error {
				switch {
				case broken > 0:
					broken++
					return reason.ErrProducerSequence
				case b.GetFirstSequence() == 5 && f.opens < 4:
					broken++
					return fmt.Errorf("the disk is away: %w", sdk.ErrUnavailable)
				}
				return nil
			}
		})
		p := f.producer(c, ProducerOptions{MaxBatchMessages: 1})
		o := send(t, p, 0, 20)
		if err := p.Flush(ctx()); err != nil {
			t.Fatal(err)
		}
		wantNumbered(t, f.all(), 20)
		if stored, _, failed := o.count(); stored != 20 || failed > 0 {
			t.Errorf("%d stored, %d failed: %v", stored, failed, o.errs)
		}
	})
}

// Each trouble has its own pauses and its own time: what went well in between
// counts.
func TestTroublesAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{RetryFor: time.Minute})
		defer f.close(c)
		failed := map[uint64]bool{}
		f.set(func(f *fake) {
			f.onBatch = func(b *tidemarkv1.ProduceBatch) error {
				if first := b.GetFirstSequence(); first%2 == 0 && !failed[first] {
					failed[first] = true
					return sdk.ErrUnavailable
				}
				return nil
			}
		})
		p := f.producer(c, ProducerOptions{})
		for i := range 10 {
			began := time.Now()
			if _, err := p.Send(ctx(), text("%d", i)); err != nil || time.Since(began) != time.Duration(i%2)*firstPause {
				t.Errorf("message %d: %v after %v", i, err, time.Since(began))
			}
			time.Sleep(time.Hour)
		}
		for _, onItsWay := range []int{1, 0, 1} { // with 0 only the connection notices
			hang := make(chan struct{})
			f.set(func(f *fake) { f.beforeAnswer = func(*tidemarkv1.ProduceRequest) error { <-hang; return nil } })
			o := send(t, p, 10, onItsWay)
			synctest.Wait()
			f.stop()
			close(hang)
			f.set(func(f *fake) { f.beforeAnswer = nil })
			time.AfterFunc(40*time.Second, f.start)
			if err := p.Flush(ctx()); err != nil {
				t.Error(err)
			}
			if _, _, failed := o.count(); failed > 0 {
				t.Error(o.errs)
			}
			time.Sleep(time.Hour)
		}
	})
}

// A final failure lets the messages behind it, which the server refuses because
// of it, go in a new session.
func TestFinalFailureLetsOthersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{})
		defer f.close(c)
		broken := false
		f.set(func(f *fake) {
			f.onOpen = func(*tidemarkv1.ProduceOpen) error { broken = false; return nil }
			f.onBatch = func(b *tidemarkv1.ProduceBatch) error {
				switch {
				case broken:
					return reason.ErrProducerSequence
				case b.GetFirstSequence() == 5:
					broken = true
					return fmt.Errorf("no room: %w", sdk.ErrFull)
				}
				return nil
			}
		})
		p := f.producer(c, ProducerOptions{MaxBatchMessages: 1})
		o := send(t, p, 0, 20)
		if err := p.Flush(ctx()); err != nil {
			t.Fatal(err)
		}
		for i, err := range o.errs {
			if errors.Is(err, sdk.ErrFull) != (i == 4) || err != nil && i != 4 {
				t.Errorf("message %d: %v", i, err)
			}
		}
		if len(f.all()) != 19 {
			t.Errorf("%d are stored", len(f.all()))
		}
	})
}

// A newer producer of the same name ends this one, for good.
func TestReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{})
		defer f.close(c)
		p := f.producer(c, ProducerOptions{Name: "loader"})
		f.set(func(f *fake) { f.onBatch = func(*tidemarkv1.ProduceBatch) error { return reason.ErrProducerReplaced } })
		for range 3 {
			if _, err := p.Send(ctx(), text("x")); !errors.Is(err, reason.ErrProducerReplaced) {
				t.Errorf("%v", err)
			}
		}
		synctest.Wait()
		if f.opens != 1 || len(p.link.members()) != 0 {
			t.Errorf("opened %d times, %d producers are with the link", f.opens, len(p.link.members()))
		}
	})
}

// A name that cannot be sent does not break the stream that all share.
func TestNamesThatAreNotUTF8(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{})
		defer f.close(c)
		p := f.producer(c, ProducerOptions{})
		const bad = "\xff"
		_, producer := c.Producer(ctx(), bad, ProducerOptions{})
		_, name := c.Producer(ctx(), "demo", ProducerOptions{Name: bad})
		_, cursor := c.Cursor(ctx(), "demo", bad, CursorOptions{})
		_, start := c.CreateCursor(ctx(), "demo", "x", WhereCursor(bad))
		_, describe := c.DescribeTopic(ctx(), bad)
		_, update := c.UpdateTopic(ctx(), "demo", map[string]string{"read-policy": bad})
		var reader error
		for _, reader = range c.Reader(bad, ReadOptions{}).Batches(ctx()) {
		}
		for what, err := range map[string]error{
			"producer": producer, "name": name, "cursor": cursor, "start": start, "describe": describe, "update": update, "reader": reader,
			"create": c.CreateTopic(ctx(), bad, nil), "delete cursor": c.DeleteCursor(ctx(), "demo", bad),
		} {
			if !errors.Is(err, reason.ErrInvalidName) || !strings.Contains(fmt.Sprint(err), `"\xff"`) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := p.Send(ctx(), text("0")); err != nil || f.streams != 1 {
			t.Errorf("%v, %d streams", err, f.streams)
		}
	})
}
