package endtoend

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestS042S045DamagedFiles damages one file of each kind of a directory in turn.
// The daemon then refuses to start and says why, or starts and gives everything,
// or says at the read what it cannot give. Nothing is missing in silence.
//
// The logs are left out: what a cut off end of the last one held cannot be told
// from what was never written. plugins/pebble tests them.
func TestS042S045DamagedFiles(t *testing.T) {
	rounds(t, 1, func(t *testing.T, random *rand.Rand) {
		lines := manyLines(100_000)
		base := filepath.Join(t.TempDir(), "data")
		d := serve(t, base, "127.0.0.1:0")
		must(t, d.addresses.GRPC, nil, "topic", "create", "demo")
		must(t, d.addresses.GRPC, bytes.NewReader(lines), "produce", "demo")
		if code := d.stop(); code != 0 { // which leaves nothing in the log alone
			t.Fatalf("exit code %d\n%s", code, d.log)
		}
		files, err := os.ReadDir(base)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, file := range files {
			kind := strings.TrimLeft(strings.TrimRight(file.Name(), "0123456789"), "0123456789")
			if info, err := file.Info(); err != nil || info.Size() == 0 || seen[kind] || kind == ".log" || kind == "RESERVE" {
				continue
			}
			seen[kind] = true
			for _, name := range []string{"flip", "cut", "zeroes", "remove"} {
				t.Run(fmt.Sprintf("%s/%s", file.Name(), name), func(t *testing.T) {
					data := filepath.Join(t.TempDir(), "data")
					if err := os.CopyFS(data, os.DirFS(base)); err != nil {
						t.Fatal(err)
					}
					damage(t, random, filepath.Join(data, file.Name()), name)
					toldOrWhole(t, data, lines)
				})
			}
		}
	})
}

// damage changes a file.
func damage(t *testing.T, random *rand.Rand, path, how string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := random.IntN(len(text))
	switch how {
	case "flip":
		text[at] ^= 1 << random.IntN(8)
	case "cut":
		text = text[:at]
	case "zeroes":
		clear(text[at-at%4096 : min(len(text), at-at%4096+4096)])
	case "remove":
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(path, text, 0o640); err != nil {
		t.Fatal(err)
	}
}

// toldOrWhole starts a daemon over a damaged directory.
func toldOrWhole(t *testing.T, data string, lines []byte) {
	t.Helper()
	d, err := tryServe(t, data, "127.0.0.1:0")
	if err != nil {
		select {
		case <-d.exited:
		default:
			t.Fatal(err)
		}
		if code := d.command.ProcessState.ExitCode(); code != exitFailure {
			t.Errorf("exit code %d", code)
		}
		if !strings.Contains(d.log.String(), data) {
			t.Errorf("the message does not name the directory:\n%s", d.log)
		}
		noTrace(t, d.log.String())
		return
	}
	r := client(t, d.addresses.GRPC, nil, "read", "demo", "--from", "earliest")
	switch {
	case r.code == 0:
		sameText(t, r.stdout, lines)
	case !strings.Contains(string(r.stderr), "corrupt"):
		t.Errorf("the message does not say that something is damaged: exit code %d\n%s", r.code, r.stderr)
	case !bytes.HasPrefix(lines, r.stdout):
		t.Error("what was read before the damage is not what was written")
	}
	noTrace(t, string(r.stderr))
	noTrace(t, d.log.String())
}
