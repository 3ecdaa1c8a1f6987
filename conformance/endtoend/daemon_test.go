package endtoend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// startLimit is how long a daemon may take to get ready on a busy machine.
const startLimit = 60 * time.Second

// binary builds the engine once for all tests of the package.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tidemark-endtoend-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "engine")
	out, err := exec.Command("go", "build", "-o", path, "github.com/tidemark-engine/tidemark/cmd/engine").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

func engineBinary(t *testing.T) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// freeAddress returns a loopback address that was free a moment ago, for a
// daemon that has to come back at the same one.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// daemon is one running `engine serve`.
type daemon struct {
	t         *testing.T
	command   *exec.Cmd
	log       *lockedBuffer
	exited    chan struct{} // closed when the process has been reaped
	addresses addresses
}

// addresses is what the ready file says.
type addresses struct {
	GRPC string `json:"grpc"`
	HTTP string `json:"http"`
}

// serve starts a daemon and returns when it is ready.
func serve(t *testing.T, data, grpcAddress string, more ...string) *daemon {
	t.Helper()
	d, err := tryServe(t, data, grpcAddress, more...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// tryServe starts a daemon and returns when it is ready or has ended.
func tryServe(t *testing.T, data, grpcAddress string, more ...string) (*daemon, error) {
	t.Helper()
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready.json")
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	if err := watcher.Add(dir); err != nil {
		t.Fatal(err)
	}
	arguments := append([]string{"serve", "--data", data, "--grpc", grpcAddress, "--http", "127.0.0.1:0", "--ready-file", ready}, more...)
	d := &daemon{t: t, command: exec.Command(engineBinary(t), arguments...), log: &lockedBuffer{}, exited: make(chan struct{})}
	d.command.Stdout, d.command.Stderr = d.log, d.log
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		d.command.Wait()
		close(d.exited)
	}()
	t.Cleanup(d.kill)
	return d, d.awaitReady(watcher, ready)
}

func (d *daemon) awaitReady(watcher *fsnotify.Watcher, ready string) error {
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	for {
		if data, err := os.ReadFile(ready); err == nil {
			return json.Unmarshal(data, &d.addresses)
		}
		select {
		case <-watcher.Events:
		case <-d.exited:
			return fmt.Errorf("the daemon ended (%v) before it was ready:\n%s", d.command.ProcessState, d.log)
		case <-limit.C:
			return fmt.Errorf("the daemon was not ready after %s:\n%s", startLimit, d.log)
		}
	}
}

// kill ends the daemon without giving it a chance, and waits for that.
func (d *daemon) kill() {
	d.command.Process.Kill()
	<-d.exited
}

// stop asks the daemon to end and returns its exit code.
func (d *daemon) stop() int {
	d.t.Helper()
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.t.Fatal(err)
	}
	select {
	case <-d.exited:
	case <-time.After(startLimit):
		d.t.Fatalf("the daemon did not stop within %s of SIGTERM:\n%s", startLimit, d.log)
	}
	return d.command.ProcessState.ExitCode()
}

// result is what a client command did.
type result struct {
	stdout, stderr []byte
	code           int
}

// client runs one client command against server to its end.
func client(t *testing.T, server string, stdin io.Reader, arguments ...string) result {
	t.Helper()
	return clientWithin(t, context.Background(), server, stdin, arguments...)
}

func clientWithin(t *testing.T, ctx context.Context, server string, stdin io.Reader, arguments ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, engineBinary(t), arguments...)
	command.Env = append(os.Environ(), "TIDEMARK_SERVER="+server)
	command.Stdin, command.Stdout, command.Stderr = stdin, &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.Bytes(), stderr.Bytes(), command.ProcessState.ExitCode()}
}

// must is client for a command that has to succeed.
func must(t *testing.T, server string, stdin io.Reader, arguments ...string) []byte {
	t.Helper()
	r := client(t, server, stdin, arguments...)
	if r.code != 0 {
		t.Fatalf("engine %s: exit code %d\n%s", strings.Join(arguments, " "), r.code, r.stderr)
	}
	return r.stdout
}

// lockedBuffer collects output that a process writes while a test reads it.
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
