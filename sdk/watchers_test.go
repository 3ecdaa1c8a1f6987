package sdk_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/tidemark-engine/tidemark/sdk"
)

// TestWatchersMergeChanges has a watcher that is slow: what changes meanwhile
// comes once a key, and nothing of other prefixes.
func TestWatchersMergeChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w sdk.Watchers
		ctx, cancel := context.WithCancel(t.Context())
		hold, ended := make(chan struct{}), make(chan error, 1)
		told := map[string]int{} // the watcher's until it ended
		go func() {
			ended <- w.Watch(ctx, "topic/", func(key string) {
				told[key]++
				<-hold
			})
		}()
		synctest.Wait()
		w.Changed("topic/first")
		synctest.Wait() // the watcher is busy with the first one
		for range 3 {
			w.Changed("topic/a")
			w.Changed("topic/b")
			w.Changed("cursor/c")
		}
		close(hold)
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the end of its context: %v", err)
		}
		if want := map[string]int{"topic/first": 1, "topic/a": 1, "topic/b": 1}; !maps.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
		w.Changed("topic/late") // nobody watches
	})
}

// TestWatchersClose ends the calls of Watch under way, but not before they told
// what had changed.
func TestWatchersClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w sdk.Watchers
		const watching = 3
		ended := make(chan error, watching)
		told := make(chan string, watching)
		for range watching {
			go func() { ended <- w.Watch(t.Context(), "", func(key string) { told <- key }) }()
		}
		synctest.Wait()
		w.Changed("last")
		w.Close()
		var keys []string
		for range watching {
			if err := <-ended; !errors.Is(err, sdk.ErrClosed) {
				t.Errorf("a watch under way: %v", err)
			}
			keys = append(keys, <-told)
		}
		if !slices.Equal(keys, []string{"last", "last", "last"}) {
			t.Errorf("told %v", keys)
		}
		if err := w.Watch(t.Context(), "", func(string) {}); !errors.Is(err, sdk.ErrClosed) {
			t.Errorf("a watch after Close: %v", err)
		}
	})
}
