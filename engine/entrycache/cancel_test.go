package entrycache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

func TestReadCancelledLeaderDoesNotFailTheFollowers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, nil), newStorage(1)
		ctx, cancel := context.WithCancel(t.Context())
		leader := read(ctx, c, s, 0, 9, 0)
		follower := read(t.Context(), c, s, 0, 9, 0)
		cancel()
		synctest.Wait()
		if leader.calls != 1 || !errors.Is(leader.err, context.Canceled) {
			t.Fatalf("leader ended %d times with %v", leader.calls, leader.err)
		}
		r := s.one(t)
		if r.ctx.Err() != nil {
			t.Fatal("the storage read was cancelled with its first reader")
		}
		r.all()
		follower.want(t, 1, 0, 10)
		if leader.calls != 1 {
			t.Fatal("the leader was answered again")
		}
	})
}

func TestReadIsCancelledWhenNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, nil), newStorage(1)
		ctx, cancel := context.WithCancel(t.Context())
		read(ctx, c, s, 0, 9, 77)
		read(ctx, c, s, 0, 9, 77)
		cancel()
		synctest.Wait()
		r := s.one(t)
		if r.ctx.Err() == nil {
			t.Fatal("the storage read goes on for nobody")
		}
		if st := c.Stats(); st.ReadBytes != 77 {
			t.Fatalf("%+v: the bytes count until the storage read has ended", st)
		}
		later := read(t.Context(), c, s, 0, 9, 0)
		if len(s.reads) != 1 {
			t.Fatal("a later read waits for the cancelled one")
		}
		(<-s.reads).all()
		later.want(t, 1, 0, 10)
		r.done(nil, r.ctx.Err())
		if st := c.Stats(); st.ReadBytes != 0 || st.ReadsInFlight != 0 {
			t.Fatalf("%+v", st)
		}
	})
}

func TestReadContextEndedBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(background)
	cancel()
	c, s := newCache(t, nil), newStorage(1)
	o := read(ctx, c, s, 0, 9, 0)
	if o.calls != 1 || !errors.Is(o.err, context.Canceled) || len(s.reads) != 0 {
		t.Fatalf("ended %d times with %v after %d reads", o.calls, o.err, len(s.reads))
	}
}

// TestReadFollowerOfAShortAnswer: the answer that was shared does not have what
// the follower wants, so it gets a read of its own.
func TestReadFollowerOfAShortAnswer(t *testing.T) {
	for name, end := range map[string]func(*storageRead){
		"short":             func(r *storageRead) { r.upTo(9) },
		"beyond the ledger": func(r *storageRead) { r.done(nil, sdk.ErrEntryNotFound) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := newCache(t, nil), newStorage(1)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				read(ctx, c, s, 0, 99, 0)
				follower := read(ctx, c, s, 50, 59, 0)
				end(s.one(t))
				synctest.Wait()
				if follower.calls != 0 {
					t.Fatalf("ended with %d entries, %v", len(follower.payloads), follower.err)
				}
				s.one(t).all()
				follower.want(t, 1, 50, 10)
			})
		})
	}
}

func TestReadFollowerCancelledWhileItIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, nil), newStorage(1)
		held := make(heldExecutor, 1)
		c.executor = held
		ctx, cancel := context.WithCancel(t.Context())
		read(t.Context(), c, s, 0, 99, 0)
		follower := read(ctx, c, s, 50, 59, 0)
		s.one(t).upTo(9)
		cancel()
		synctest.Wait()
		(<-held).Run()
		if follower.calls != 1 || !errors.Is(follower.err, context.Canceled) || len(s.reads) != 0 {
			t.Fatalf("ended %d times with %v after %d reads", follower.calls, follower.err, len(s.reads))
		}
	})
}

// heldExecutor keeps tasks until the test runs them.
type heldExecutor chan scheduling.Task

func (heldExecutor) NewLane(string) scheduling.Lane { panic("the cache uses no lane") }

func (h heldExecutor) Go(task scheduling.Task) error {
	h <- task
	return nil
}
