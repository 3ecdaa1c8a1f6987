package endtoend

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	tidemark "github.com/tidemark-engine/tidemark/sdk/client"
)

// TestS013CursorAtLatestAndAKill makes a cursor at the end of an empty topic;
// the first entry after that survives a kill for it.
func TestS013CursorAtLatestAndAKill(t *testing.T) {
	data, address := filepath.Join(t.TempDir(), "data"), freeAddress(t)
	d := serve(t, data, address)
	must(t, address, nil, "topic", "create", "demo")
	must(t, address, nil, "cursor", "create", "demo", "billing", "--from", "latest")
	must(t, address, strings.NewReader("first\n"), "produce", "demo")
	d.kill()
	serve(t, data, address)
	if got := must(t, address, nil, "read", "demo", "--cursor", "billing"); string(got) != "first\n" {
		t.Errorf("the cursor read %q", got)
	}
}

// TestS009LastEntryIsVisible reads each entry with nothing added behind it, also
// after a kill. No timer and no further add has to make it visible.
func TestS009LastEntryIsVisible(t *testing.T) {
	data, address := filepath.Join(t.TempDir(), "data"), freeAddress(t)
	d := serve(t, data, address)
	must(t, address, nil, "topic", "create", "demo")
	all := ""
	for _, line := range []string{"one\n", "two\n", "three\n"} {
		must(t, address, strings.NewReader(line), "produce", "demo")
		all += line
		if got := string(whole(t, address, "demo")); got != all {
			t.Errorf("after %q the topic holds %q", line, got)
		}
		if got := string(must(t, address, nil, "read", "demo", "--cursor", "billing")); got != line {
			t.Errorf("after %q the cursor read %q", line, got)
		}
		d.kill()
		d = serve(t, data, address)
		if got := string(whole(t, address, "demo")); got != all {
			t.Errorf("after %q and a kill the topic holds %q", line, got)
		}
	}
}

// TestS019DeliveredNotAcknowledged hands entries to a consumer that dies with
// the daemon before it acknowledges.
func TestS019DeliveredNotAcknowledged(t *testing.T) {
	data, address := filepath.Join(t.TempDir(), "data"), freeAddress(t)
	d := serve(t, data, address)
	must(t, address, nil, "topic", "create", "demo")
	must(t, address, strings.NewReader("one\ntwo\nthree\n"), "produce", "demo")
	if got := must(t, address, nil, "read", "demo", "--cursor", "billing", "--limit", "1"); string(got) != "one\n" {
		t.Fatalf("the cursor read %q", got)
	}
	consumer := dial(t, address)
	take(t, consumer, "demo", "billing", "two")
	d.kill()
	consumer.Close(t.Context()) // which would come back, and compete with the next reader
	serve(t, data, address)
	if got := must(t, address, nil, "read", "demo", "--cursor", "billing"); string(got) != "two\nthree\n" {
		t.Errorf("after the kill the cursor read %q", got)
	}
}

// dial connects to a daemon; the client does not outlive the test.
func dial(t *testing.T, address string) *tidemark.Client {
	t.Helper()
	c, err := tidemark.Dial(t.Context(), address, tidemark.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// take opens a cursor, receives its next entry, and keeps the cursor open
// without acknowledging.
func take(t *testing.T, c *tidemark.Client, topic, cursor, want string) {
	t.Helper()
	u, err := c.Cursor(t.Context(), topic, cursor, tidemark.CursorOptions{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range u.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if len(batch.Entries) == 0 {
			continue
		}
		if got := string(batch.Entries[0].Payload); got != want {
			t.Fatalf("the cursor was given %q, want %q", got, want)
		}
		return
	}
	t.Fatal("the cursor was given nothing")
}
