package endtoend

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// smallVolume mounts a file system of size bytes, in memory, and returns where.
// Only root may do that; elsewhere the test is skipped.
func smallVolume(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount a small file system that can be filled")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tidemark-test", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a small file system that can be filled cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// forSmallVolume are settings with which a store makes sense on a small volume.
var forSmallVolume = []string{
	"--set", "store.reserve-size=24MiB", "--set", "store.memtable-size=8MiB", "--set", "topics.max-entry-size=1MiB",
}

// fill writes a file that takes all the room but about leave bytes.
func fill(t *testing.T, path string, leave int64) {
	t.Helper()
	var stat syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &stat); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	room := int64(stat.Bavail)*stat.Bsize - leave
	if _, err := io.CopyN(f, zeroes{}, max(room, 0)); err != nil && leave > 0 {
		t.Fatal(err)
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// eventually waits for condition, which is asked again and again until limit.
func eventually(t *testing.T, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			t.Fatalf("not within %s: %s", limit, what)
		case <-again.C:
		}
	}
}

// status returns what a GET of the daemon's HTTP address is answered with.
func (d *daemon) status(path string) (int, string) {
	d.t.Helper()
	answer, err := http.Get("http://" + d.addresses.HTTP + path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// whole is all that a topic holds.
func whole(t *testing.T, address, topic string) []byte {
	t.Helper()
	return must(t, address, nil, "read", topic, "--from", "earliest")
}

// wantPrefix fails unless got is the first count lines of want.
func wantPrefix(t *testing.T, got, want []byte, count int) {
	t.Helper()
	if lines := bytes.Count(got, []byte("\n")); lines < count {
		t.Fatalf("%d lines were acknowledged and %d are there", count, lines)
	}
	if !bytes.HasPrefix(want, got) {
		sameText(t, got, want[:min(len(got), len(want))])
	}
}

// noTrace fails if a log or a message holds a stack trace.
func noTrace(t *testing.T, text string) {
	t.Helper()
	for _, sign := range []string{"goroutine ", "stack trace", "panic:"} {
		if at := strings.Index(text, sign); at >= 0 {
			t.Fatalf("a stack trace instead of a message:\n%.3000s", text[at:])
		}
	}
}
