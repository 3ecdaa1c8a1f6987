package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/fx"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/config"
)

// testConfig is a daemon on a directory of its own and free ports.
func testConfig(t *testing.T) config.Config {
	t.Helper()
	c := config.Default()
	c.DataDir = filepath.Join(t.TempDir(), "data")
	c.Server.GRPCAddress, c.Server.HTTPAddress = "127.0.0.1:0", "127.0.0.1:0"
	return c
}

// startStop starts a daemon and stops it again: nothing is taken.
func startStop(t *testing.T, c config.Config) {
	t.Helper()
	d, err := start(t.Context(), c, t.Output())
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	if err := d.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestStartAndStop(t *testing.T) {
	for _, kind := range []string{"pebble", "memory"} {
		c := testConfig(t)
		c.Store.Kind = kind
		startStop(t, c)
		startStop(t, c)
	}
}

// taken returns an address where somebody listens already.
func taken(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func TestS070PortTakenFailsTheStart(t *testing.T) {
	for _, key := range []string{"grpc", "http"} {
		c := testConfig(t)
		address := taken(t)
		if key == "grpc" {
			c.Server.GRPCAddress = address
		} else {
			c.Server.HTTPAddress = address
		}
		_, err := start(t.Context(), c, t.Output())
		if err == nil || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "server."+key+"-address") {
			t.Errorf("%s: error %v", key, err)
		}
		if code := exitCode(err); code != exitFailure {
			t.Errorf("%s: exit code %d", key, code)
		}
		c.Server.GRPCAddress, c.Server.HTTPAddress = "127.0.0.1:0", "127.0.0.1:0"
		startStop(t, c) // the directory is free
	}
}

func TestS069SlowStartIsUndone(t *testing.T) {
	c := testConfig(t)
	c.Server.GRPCAddress = freeAddress(t)
	c.Server.StartTimeout = time.Second
	blocked := make(chan struct{})
	defer close(blocked)
	slow := fx.Invoke(func(life fx.Lifecycle, _ *door) {
		life.Append(fx.Hook{OnStart: func(context.Context) error { <-blocked; return nil }})
	})
	_, err := start(t.Context(), c, t.Output(), slow)
	if err == nil || !strings.Contains(err.Error(), "longer than server.start-timeout") {
		t.Errorf("error %v", err)
	}
	c.Server.StartTimeout = time.Minute
	startStop(t, c) // directory and port are free
}

func TestFailingStartIsUndone(t *testing.T) {
	cause := errors.New("no such luck")
	for name, broken := range map[string]fx.Option{
		"hook":        fx.Invoke(func(life fx.Lifecycle, _ *door) { life.Append(fx.StartHook(func() error { return cause })) }),
		"constructor": fx.Invoke(func(*engine.Engine) error { return cause }),
	} {
		c := testConfig(t)
		c.Server.GRPCAddress = freeAddress(t)
		if _, err := start(t.Context(), c, t.Output(), broken); !errors.Is(err, cause) {
			t.Errorf("%s: error %v", name, err)
		}
		startStop(t, c)
	}
}

func TestStartGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := testConfig(t)
	if _, err := start(ctx, c, t.Output()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestS080DirectoryInUse(t *testing.T) {
	c := testConfig(t)
	d, err := start(t.Context(), c, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start(t.Context(), c, t.Output()); err == nil || !strings.Contains(err.Error(), c.DataDir) || !strings.Contains(err.Error(), "in use") || exitCode(err) != exitFailure {
		t.Errorf("error %v with exit code %d", err, exitCode(err))
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestReload(t *testing.T) {
	path := file(t, "c.yaml", "log:\n  level: info\n")
	load := func() (*config.Loaded, error) { return config.Load(config.Sources{Files: []string{path}}) }
	c := testConfig(t)
	var log lockedBuffer
	d, err := start(t.Context(), c, &log)
	if err != nil {
		t.Fatal(err)
	}
	defer d.stop()
	rewrite := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d.reload(load)
	}
	rewrite("log:\n  level: debug\n  format: json\ncache:\n  size: 1MiB\ntopics:\n  max-entry-size: 1KiB\n")
	if d.config.Log.Level != "debug" || d.config.Log.Format != "text" || d.engine.Config().Cache.MaxBytes != 1<<20 || d.engine.Config().Topic.MaxEntryBytes != 1<<10 {
		t.Errorf("in force: %+v", d.config)
	}
	for _, part := range []string{"waits for a restart", "log.format", "msg=changed key=cache.size from=256MiB to=1MiB"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log does not say %q:\n%s", part, &log)
		}
	}
	before := d.config
	rewrite("log:\n  level: loud\n")
	if d.config != before || !strings.Contains(log.String(), "reload refused") {
		t.Errorf("a bad file changed something, or in silence:\n%s", &log)
	}
	rewrite("")
	if d.config.Cache.Size != config.Default().Cache.Size {
		t.Error("a key removed from the file kept its value")
	}
}

// The keys of a topic's overrides are the keys of the section topics, and both
// have the same defaults.
func TestConfigurationsAgree(t *testing.T) {
	loaded, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, s := range loaded.Settings() {
		if key, found := strings.CutPrefix(s.Key, "topics."); found {
			keys = append(keys, key)
		}
	}
	if got, want := strings.Join(keys, " "), strings.Join(engine.SettingKeys(), " "); got != want {
		t.Errorf("keys of the file\n%s\nkeys of overrides\n%s", got, want)
	}
	if got, want := engineConfig(config.Default(), nil), engine.DefaultConfig(); got != want {
		t.Errorf("defaults of the file\n%+v\ndefaults of the engine\n%+v", got, want)
	}
}

// lockedBuffer collects what several goroutines write.
type lockedBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
