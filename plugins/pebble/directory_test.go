package pebble_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/sdk"
)

// secondProcess makes the test binary open the directory that it names, print
// the error and end.
const secondProcess = "PEBBLE_TEST_SECOND_PROCESS"

// S-080: a second process is told at once, and by whom; the first goes on.
func TestS080ASecondProcessIsTold(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(secondProcess); dir != "" {
		_, err := pebble.Open(dir, pebble.Options{})
		fmt.Printf("unavailable=%v: %v\n", errors.Is(err, sdk.ErrUnavailable), err)
		return
	}
	dir := t.TempDir()
	s := mustOpen(t, dir, pebble.Options{})
	w := mustCreate(t, s)
	command := exec.Command(os.Args[0], "-test.run=^TestS080")
	command.Env = append(os.Environ(), secondProcess+"="+dir)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := fmt.Sprintf("process %d on ", os.Getpid()); !strings.Contains(string(out), want) || !strings.Contains(string(out), "unavailable=true") {
		t.Errorf("the second process says\n%s\nwant %q in it", out, want)
	}
	fill(t, w, 0, 3, 100)
	mustClose(t, s)
	mustOpen(t, dir, pebble.Options{})
}

func TestS080TheSameProcessIsTold(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, pebble.Options{})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, dir + "/.", link} {
		if _, err := pebble.Open(path, pebble.Options{}); !errors.Is(err, sdk.ErrUnavailable) || !strings.Contains(err.Error(), "in use by process") {
			t.Errorf("opening %s again: %v", path, err)
		}
	}
	fill(t, mustCreate(t, s), 0, 3, 100)
}

func TestAForeignDirectoryIsRefusedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := pebble.Open(dir, pebble.Options{})
	if !errors.Is(err, sdk.ErrInvalid) || !strings.Contains(err.Error(), "thesis.txt") {
		t.Errorf("%v", err)
	}
	if found := files(t, dir, ""); len(found) != 1 {
		t.Errorf("the directory now holds %v", found)
	}
}

func TestANewerFormatIsRefused(t *testing.T) {
	dir := t.TempDir()
	mustClose(t, mustOpen(t, dir, pebble.Options{}))
	alter(t, filepath.Join(dir, "TIDEMARK"), func(content []byte) []byte {
		return []byte(strings.Replace(string(content), "format 1", "format 2", 1))
	})
	if _, err := pebble.Open(dir, pebble.Options{}); !errors.Is(err, sdk.ErrUnsupported) || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("%v", err)
	}
}

func TestADirectoryThatCannotBeWrittenIsAClearError(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := pebble.Open(dir, pebble.Options{}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v", err)
	}
}

func TestAStartThatWasCutOffIsDoneAgain(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	mustClose(t, mustOpen(t, whole, pebble.Options{}))
	alter(t, filepath.Join(whole, "TIDEMARK"), func(content []byte) []byte {
		return []byte(strings.Replace(string(content), "ready", "new", 1))
	})
	for _, missing := range []string{"MANIFEST", "marker.manifest", "OPTIONS", "marker.format"} {
		dir := killed(t, whole)
		for _, file := range files(t, dir, missing) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		if missing == "MANIFEST" { // The marker is made after the file.
			for _, file := range files(t, dir, "marker.manifest") {
				os.Remove(file)
			}
		}
		s, err := pebble.Open(dir, pebble.Options{})
		if err != nil {
			t.Errorf("without %s: %v", missing, err)
			continue
		}
		fill(t, mustCreate(t, s), 0, 3, 100)
		mustClose(t, s)
	}
}

func TestCloseTwiceIsFine(t *testing.T) {
	s := mustOpen(t, t.TempDir(), pebble.Options{})
	mustClose(t, s)
	mustClose(t, s)
	if err := s.Health(context.Background()); !errors.Is(err, sdk.ErrClosed) {
		t.Errorf("Health: %v", err)
	}
}
