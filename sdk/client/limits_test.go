package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// Flush and Close return when every callback has run.
func TestFlushWaitsForCallbacks(t *testing.T) {
	for name, leave := range map[string]func(*Producer) error{
		"flush": func(p *Producer) error { return p.Flush(ctx()) },
		"close": func(p *Producer) error { return p.Close(ctx()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startFake(t)
				c := f.dial(Options{})
				defer f.close(c)
				p := f.producer(c, ProducerOptions{})
				begun, end := make(chan struct{}), make(chan struct{})
				var ran bool
				if err := p.SendAsync(ctx(), text("0"), func(Receipt, error) { close(begun); <-end; ran = true }); err != nil {
					t.Fatal(err)
				}
				<-begun
				left := make(chan error)
				go func() { left <- leave(p) }()
				synctest.Wait()
				select {
				case <-left:
					t.Fatal("it left while a callback was running")
				default:
				}
				close(end)
				if err := <-left; err != nil || !ran {
					t.Errorf("%v, ran: %v", err, ran)
				}
			})
		})
	}
}

// Flush waits for callbacks also when the producer is closed meanwhile and has
// nothing left.
func TestFlushWhileClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{})
		defer f.close(c)
		p := f.producer(c, ProducerOptions{})
		end := make(chan struct{})
		var ran bool
		if err := p.SendAsync(ctx(), text("0"), func(Receipt, error) { <-end; ran = true }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		flushed := make(chan error)
		go func() { flushed <- p.Flush(ctx()) }()
		synctest.Wait()
		over, cancel := context.WithCancel(ctx())
		cancel()
		if err := p.Close(over); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		synctest.Wait()
		close(end)
		if err := <-flushed; err != nil || !ran {
			t.Errorf("%v, ran: %v", err, ran)
		}
	})
}

func TestFlushAndSendEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{})
		defer f.close(c)
		p := f.producer(c, ProducerOptions{})
		hang := make(chan struct{})
		f.set(func(f *fake) { f.beforeAnswer = func(*tidemarkv1.ProduceRequest) error { <-hang; return nil } })
		soon, cancel := context.WithTimeout(ctx(), time.Second)
		defer cancel()
		if _, err := p.Send(soon, text("0")); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, sdk.ErrUnknownOutcome) {
			t.Errorf("send: %v", err)
		}
		if err := p.Flush(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("flush: %v", err)
		}
		if _, err := p.Send(soon, text("never")); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sdk.ErrUnknownOutcome) {
			t.Errorf("send when it is over: %v", err)
		}
		o := send(t, p, 1, 1)
		if err := p.Close(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		if err := o.errs[0]; !errors.Is(err, sdk.ErrClosed) {
			t.Errorf("what was pending: %v", err)
		}
		if _, err := p.Send(ctx(), text("x")); !errors.Is(err, sdk.ErrClosed) {
			t.Errorf("send after close: %v", err)
		}
		close(hang)
	})
}

// A sender waits while too much is pending, and goes on when it is not.
func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{})
		defer f.close(c)
		p := f.producer(c, ProducerOptions{MaxPendingBytes: 1000})
		hang := make(chan struct{})
		f.set(func(f *fake) { f.beforeAnswer = func(*tidemarkv1.ProduceRequest) error { <-hang; return nil } })
		var o outcomes
		sent := make(chan int, 100)
		go func() {
			for i := range 100 {
				if err := p.SendAsync(ctx(), text("%d", i), o.note); err != nil {
					t.Error(err)
				}
				sent <- i
			}
			close(sent)
		}()
		synctest.Wait()
		if n := len(sent); n < 5 || n > 1000/messageCost {
			t.Errorf("%d messages are pending", n)
		}
		soon, cancel := context.WithTimeout(ctx(), time.Second)
		defer cancel()
		if err := p.SendAsync(soon, text("never"), o.note); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		close(hang)
		for range sent {
		}
		if err := p.Flush(ctx()); err != nil {
			t.Fatal(err)
		}
		wantNumbered(t, f.all(), 100)
		if _, err := p.Send(ctx(), message.Message{Payload: make([]byte, 5000)}); err != nil {
			t.Errorf("one message alone may exceed the limit: %v", err)
		}
	})
}

// A message goes at once, or when the linger is over, or the batch is full.
func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{})
		defer f.close(c)
		for _, linger := range []time.Duration{0, time.Second} {
			p := f.producer(c, ProducerOptions{Linger: linger, MaxBatchMessages: 3})
			began := time.Now()
			if _, err := p.Send(ctx(), text("x")); err != nil || time.Since(began) != linger {
				t.Errorf("linger %v: %v, %v", linger, time.Since(began), err)
			}
			began = time.Now()
			o := send(t, p, 0, 3)
			synctest.Wait()
			if stored, _, _ := o.count(); stored != 3 {
				t.Errorf("linger %v: a full batch does not go: %d", linger, stored)
			}
			send(t, p, 0, 1)
			if err := p.Flush(ctx()); err != nil || time.Since(began) != 0 {
				t.Errorf("linger %v: flush took %v, %v", linger, time.Since(began), err)
			}
		}
	})
}

// What producers have to send while the link is busy goes in one frame, and no
// frame is larger than the server takes.
func TestGather(t *testing.T) {
	l := &link{sessions: map[uint32]*Producer{}, producers: map[*Producer]struct{}{}, wake: make(chan struct{}, 1), room: 10_000}
	var producers []*Producer
	for range 50 {
		p := &Producer{link: l, topic: "demo", ready: make(chan struct{}), options: ProducerOptions{MaxBatchBytes: 5000, MaxBatchMessages: 10}}
		l.producers[p] = struct{}{}
		p.mu.Lock()
		p.restart()
		p.mu.Unlock()
		producers = append(producers, p)
	}
	frame := l.gather()
	if len(frame.GetOpens()) != 50 || len(frame.GetBatches()) != 0 {
		t.Fatalf("%v", frame)
	}
	for _, p := range producers {
		p.opened(&tidemarkv1.ProduceOpened{Session: p.session, MaxEntryBytes: 100_000})
		m := text("0")
		p.mu.Lock()
		p.put(&m, m.Size(), 1, nil)
		p.mu.Unlock()
	}
	if frame = l.gather(); len(frame.GetBatches()) != 50 {
		t.Errorf("%d batches in a frame of 50 small ones", len(frame.GetBatches()))
	}
	sizes := []int{4000, 4000, 4000, 50_000, 10, 10, 9000, 2000}
	for i, size := range sizes {
		m := message.Message{Payload: make([]byte, size)}
		p := producers[i%3]
		p.mu.Lock()
		p.put(&m, m.Size(), p.next, nil)
		p.mu.Unlock()
	}
	messages := 0
	for frame = l.gather(); frame != nil; frame = l.gather() {
		if n := len(frame.GetBatches()); proto.Size(frame) > 10_000 && n > 1 {
			t.Errorf("a frame of %d bytes holds %d batches", proto.Size(frame), n)
		}
		for _, b := range frame.GetBatches() {
			messages += int(b.GetCount())
		}
	}
	if messages != len(sizes) {
		t.Errorf("%d messages of %d", messages, len(sizes))
	}
}

// A server that takes small messages gets small frames, from the first one on.
func TestFramesFitTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, func(f *fake) { f.maxFrame = 64 << 10 })
		c := f.dial(Options{})
		defer f.close(c)
		var opening sync.WaitGroup
		producers := make([]*Producer, 500)
		for i := range producers {
			opening.Go(func() {
				producers[i] = f.producer(c, ProducerOptions{Name: strings.Repeat("n", 250) + string(rune('a'+i%26)) + strings.Repeat("x", i/26)})
			})
		}
		opening.Wait()
		f.restart() // all are opened again, at once
		for _, p := range producers {
			for range 4 {
				if err := p.SendAsync(ctx(), message.Message{Payload: make([]byte, 1000)}, func(_ Receipt, err error) {
					if err != nil {
						t.Error(err)
					}
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
		send(t, producers[0], 0, 300)
		for _, size := range []int{64<<10 - 1200, 10, 50_000, 20_000} {
			if _, err := producers[0].Send(ctx(), message.Message{Payload: make([]byte, size)}); err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
		if _, err := producers[0].Send(ctx(), message.Message{Payload: make([]byte, 64<<10)}); !errors.Is(err, sdk.ErrTooLarge) {
			t.Errorf("%v", err)
		}
		for _, p := range producers {
			if err := p.Close(ctx()); err != nil {
				t.Fatal(err)
			}
		}
		if f.streams != 2 {
			t.Errorf("%d streams", f.streams)
		}
	})
}

// Closing a client ends what goes over it; nothing waits for ever.
func TestCloseClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		hang := make(chan struct{})
		f.read = func(_ int, _ *tidemarkv1.ReadRequest, s readSender) error { <-s.Context().Done(); return nil }
		f.consume = func(_ int, s consumeServer) error {
			_ = s.Send(opened(0))
			<-s.Context().Done()
			return nil
		}
		c := f.dial(Options{})
		p := f.producer(c, ProducerOptions{})
		u, err := c.Cursor(ctx(), "demo", "one", CursorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		f.set(func(f *fake) { f.beforeAnswer = func(*tidemarkv1.ProduceRequest) error { <-hang; return nil } })
		var ends []chan error
		for _, wait := range []func() error{
			func() error { _, err := p.Send(ctx(), text("0")); return err },
			func() error { return only(c.Reader("demo", ReadOptions{Follow: true}).Batches(ctx())) },
			func() error { return only(u.Batches(ctx())) },
			func() error { return u.Acknowledge(ctx(), sdk.Position{}) },
		} {
			end := make(chan error)
			go func() { end <- wait() }()
			ends = append(ends, end)
		}
		synctest.Wait()
		if err := c.Close(ctx()); err != nil {
			t.Error(err)
		}
		for i, end := range ends {
			if err := <-end; !errors.Is(err, sdk.ErrClosed) {
				t.Errorf("%d: %v", i, err)
			}
		}
		_, errProducer := c.Producer(ctx(), "demo", ProducerOptions{})
		_, errCursor := c.Cursor(ctx(), "demo", "one", CursorOptions{})
		_, errSend := p.Send(ctx(), text("x"))
		for i, err := range []error{errProducer, errCursor, errSend, only(c.Reader("demo", ReadOptions{}).Batches(ctx()))} {
			if !errors.Is(err, sdk.ErrClosed) {
				t.Errorf("afterwards, %d: %v", i, err)
			}
		}
		if err := errors.Join(c.Close(ctx()), p.Close(ctx()), u.Close(ctx())); err != nil {
			t.Errorf("closing twice: %v", err)
		}
		close(hang)
		f.stop()
		if slices.Contains(f.all(), "x") {
			t.Error("a message went out after the end")
		}
	})
}
