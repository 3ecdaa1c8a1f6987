package endtoend

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Exit codes of the engine, as its documentation says.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitUnavailable = 4
)

// TestBadInputIsSaidClearly gives a running daemon what it must refuse.
func TestBadInputIsSaidClearly(t *testing.T) {
	address := freeAddress(t)
	serve(t, filepath.Join(t.TempDir(), "data"), address)
	must(t, address, nil, "topic", "create", "demo")
	must(t, address, strings.NewReader("one\ntwo\n"), "produce", "demo")

	for _, c := range []struct {
		name      string
		arguments []string
		stdin     []byte
		code      int
		says      string
	}{
		{"unknown topic", []string{"read", "nosuch", "--from", "earliest"}, nil, exitNotFound, "nosuch"},
		{"unknown topic, produce", []string{"produce", "nosuch"}, []byte("x\n"), exitNotFound, "nosuch"},
		{"unknown cursor", []string{"cursor", "describe", "demo", "nosuch"}, nil, exitNotFound, "nosuch"},
		{"unknown policy", []string{"topic", "set", "demo", "read-policy=complete-at-lak"}, nil, exitUsage, "complete-at-lac"},
		{"unknown setting", []string{"topic", "set", "demo", "read-polici=complete-at-lac"}, nil, exitUsage, "read-policy"},
		{"name with dots", []string{"topic", "create", "../etc"}, nil, exitUsage, ".."},
		{"name that is not UTF-8", []string{"topic", "create", "a\xffb"}, nil, exitUsage, "UTF-8"},
		{"position that is none", []string{"read", "demo", "--from", "12-4"}, nil, exitUsage, "12-4"},
		{"unknown flag", []string{"topic", "create", "demo", "--colour"}, nil, exitUsage, "colour"},
		{"entry too large", []string{"produce", "demo"}, append(bytes.Repeat([]byte("x"), 6<<20), '\n'), exitFailure, "5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := client(t, address, bytes.NewReader(c.stdin), c.arguments...)
			if r.code != c.code {
				t.Errorf("exit code %d, want %d", r.code, c.code)
			}
			if !strings.Contains(string(r.stderr), c.says) {
				t.Errorf("the message does not say %q:\n%s", c.says, r.stderr)
			}
			if strings.Contains(string(r.stderr), "goroutine ") {
				t.Errorf("a stack trace instead of a message:\n%s", r.stderr)
			}
		})
	}
	if got := string(must(t, address, nil, "read", "demo", "--from", "earliest")); got != "one\ntwo\n" {
		t.Errorf("after all that the topic holds %q", got)
	}
}

// TestS070PortTaken and TestS080DirectoryInUse start a second daemon where one
// runs already.
func TestS070PortTaken(t *testing.T) {
	first := serve(t, filepath.Join(t.TempDir(), "data"), "127.0.0.1:0")
	refused(t, filepath.Join(t.TempDir(), "data"), first.addresses.GRPC, exitFailure, first.addresses.GRPC)
}

func TestS080DirectoryInUse(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	first := serve(t, data, "127.0.0.1:0")
	refused(t, data, "127.0.0.1:0", exitFailure, "in use")
	must(t, first.addresses.GRPC, nil, "topic", "create", "undisturbed")
}

// TestDirectoryThatIsNotOurs refuses a directory with other people's files and
// leaves them alone.
func TestDirectoryThatIsNotOurs(t *testing.T) {
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "letter.txt"), []byte("dear"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, data, "127.0.0.1:0", exitFailure, data)
	if got, err := os.ReadFile(filepath.Join(data, "letter.txt")); err != nil || string(got) != "dear" {
		t.Errorf("the file is now %q, %v", got, err)
	}
}

// refused starts a daemon that must end by itself, with code and a message.
func refused(t *testing.T, data, grpcAddress string, code int, says string) {
	t.Helper()
	d, err := tryServe(t, data, grpcAddress)
	if err == nil {
		t.Fatal("the daemon started")
	}
	<-d.exited
	if got := d.command.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	if !strings.Contains(d.log.String(), says) {
		t.Errorf("the message does not say %q:\n%s", says, d.log)
	}
	if strings.Contains(d.log.String(), "goroutine ") {
		t.Errorf("a stack trace instead of a message:\n%s", d.log)
	}
}
