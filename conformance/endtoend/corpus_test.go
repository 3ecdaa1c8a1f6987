package endtoend

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const corpusLines = 200_000

// corpus is real text, line by line: the Go distribution's own sources, with
// what text files also hold strewn in: empty lines, lines of 1 MiB, bytes that
// are not UTF-8, lines that look like framing.
func corpus(t *testing.T, random *rand.Rand) [][]byte {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]byte
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines = append(lines, bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))...)
		if len(lines) >= corpusLines {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < corpusLines {
		t.Fatalf("the Go distribution has only %d lines of source", len(lines))
	}
	for range 8 {
		lines[random.IntN(len(lines))] = bytes.Repeat([]byte("m"), 1<<20)
	}
	for range 200 {
		lines[random.IntN(len(lines))] = nil
		lines[random.IntN(len(lines))] = []byte{0xff, 0xfe, 0x00, 0x80, 0xc3}
		lines[random.IntN(len(lines))] = []byte("\r")
	}
	return lines
}

// text joins lines as a file holds them.
func text(lines [][]byte) []byte {
	return append(bytes.Join(lines, []byte("\n")), '\n')
}

// sameText fails at the first line where two texts differ.
func sameText(t *testing.T, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range w {
		if i >= len(g) || !bytes.Equal(g[i], w[i]) {
			t.Fatalf("line %d of %d differs (%d lines read)\n got %.120q\nwant %.120q", i+1, len(w)-1, len(g)-1, at(g, i), w[i])
		}
	}
	t.Fatalf("%d lines read, %d written; the first further line is %.120q", len(g)-1, len(w)-1, at(g, len(w)))
}

func at(lines [][]byte, i int) []byte {
	if i < len(lines) {
		return lines[i]
	}
	return nil
}
