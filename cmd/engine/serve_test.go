package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"

	"github.com/tidemark-engine/tidemark/engine/config"
)

// TestServe runs the command itself: a stale ready file goes, a new one comes
// when the daemon is ready, a signal ends it in success, and nothing is left.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready.json")
	if err := os.WriteFile(ready, []byte(`{"grpc":"127.0.0.1:1","pid":1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	if err := watcher.Add(dir); err != nil {
		t.Fatal(err)
	}
	ctx, signal := context.WithCancel(t.Context())
	defer signal()
	ended := make(chan outcome, 1)
	go func() {
		ended <- engineRunIn(t, ctx, "", nil, "serve", "--data", filepath.Join(dir, "data"), "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0",
			"--ready-file", ready, "--guide", "--set", "log.format=json")
	}()
	var at addresses
	for at.PID != os.Getpid() {
		select {
		case <-watcher.Events:
		case result := <-ended:
			t.Fatalf("ended with %d before it was ready: %s", result.code, result.err)
		}
		if text, err := os.ReadFile(ready); err == nil {
			if err := json.Unmarshal(text, &at); err != nil {
				t.Fatalf("half a file: %s", text)
			}
		}
	}
	engineRun(t, "", "topic", "create", "demo", "--server", at.GRPC).want(t, exitSuccess)
	signal()
	result := <-ended
	result.want(t, exitSuccess, "engine topic create demo", `"msg":"ready"`, `"part":"store"`)
	if !strings.Contains(result.out, at.GRPC) {
		t.Errorf("the guide does not name the address:\n%s", result.out)
	}
	if _, err := os.Stat(ready); !os.IsNotExist(err) {
		t.Errorf("the ready file is left: %v", err)
	}
}

func TestKeptIn(t *testing.T) {
	c := config.Default()
	same(t, "pebble", keptIn(c), c.DataDir)
	c.Store.Kind = "memory"
	same(t, "memory", keptIn(c), "gone with the daemon")
}
