package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func newBelongings() *belongings { return &belongings{log: slog.New(slog.DiscardHandler)} }

func TestBelongingsEndInReverseOrderOnce(t *testing.T) {
	b := newBelongings()
	var ended []string
	part := func(name string, err error) {
		b.add(belonging{name, time.Second, func(context.Context) error {
			ended = append(ended, name)
			return err
		}})
	}
	part("store", nil)
	part("engine", errors.New("three adds were not answered"))
	part("server", nil)
	err := b.close()
	if !slices.Equal(ended, []string{"server", "engine", "store"}) {
		t.Errorf("ended %v", ended)
	}
	if err == nil || !strings.Contains(err.Error(), "stop engine: three adds") {
		t.Errorf("report: %v", err)
	}
	if err := b.close(); err != nil || len(ended) != 3 {
		t.Errorf("closed twice: %v, %v", ended, err)
	}
	part("late", nil)
	if ended[len(ended)-1] != "late" {
		t.Error("what came after the close was left open")
	}
}

// A part that does not come back is left behind within a known time; those
// below it still get their turn and their whole limit.
func TestBelongingsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBelongings()
		never := make(chan struct{})
		var left time.Duration
		b.add(belonging{"store", 3 * time.Second, func(ctx context.Context) error {
			deadline, _ := ctx.Deadline()
			left = time.Until(deadline)
			return nil
		}})
		b.add(belonging{"stubborn", time.Second, func(context.Context) error { <-never; return nil }})
		begun := time.Now()
		err := b.close()
		if took := time.Since(begun); took != 2*time.Second || left != 3*time.Second {
			t.Errorf("took %s, the store had %s", took, left)
		}
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "stubborn") {
			t.Errorf("report: %v", err)
		}
		close(never)
	})
}
