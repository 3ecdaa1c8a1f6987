package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tidemark-engine/tidemark/sdk"
)

func readFrames(t *testing.T, framing string, in io.Reader, limit int) ([][]byte, error) {
	t.Helper()
	r, err := newFrameReader(framing, in, limit)
	if err != nil {
		t.Fatal(err)
	}
	var entries [][]byte
	for {
		entry, err := r.next()
		if err == io.EOF {
			return entries, nil
		}
		if err != nil {
			return entries, err
		}
		entries = append(entries, bytes.Clone(entry))
	}
}

func TestLineFraming(t *testing.T) {
	long := strings.Repeat("m", 1<<20)
	for in, want := range map[string][]string{
		"":                          nil,
		"\n":                        {""},
		"\n\n":                      {"", ""},
		"a\nb\n":                    {"a", "b"},
		"a\nb":                      {"a", "b"},
		"a\n\nb\r\n":                {"a", "", "b\r"},
		"\xff\xfe\x00\x80\n\xc3":    {"\xff\xfe\x00\x80", "\xc3"},
		"x\n" + long + "\ny\n":      {"x", long, "y"},
		long:                        {long},
		strings.Repeat("a\n", 9999): strings.Split(strings.Repeat("a ", 9998)+"a", " "),
	} {
		for name, reader := range map[string]io.Reader{"whole": strings.NewReader(in), "bytewise": iotest.OneByteReader(strings.NewReader(in))} {
			got, err := readFrames(t, "line", reader, 1<<20)
			if err != nil || len(got) != len(want) {
				t.Fatalf("%.20q %s: %d entries, want %d; error %v", in, name, len(got), len(want), err)
			}
			for i := range got {
				if string(got[i]) != want[i] {
					t.Errorf("%.20q %s: entry %d is %.40q, want %.40q", in, name, i, got[i], want[i])
				}
			}
		}
	}
}

func TestFramingLimits(t *testing.T) {
	at, above := strings.Repeat("x", 300<<10), strings.Repeat("x", 300<<10+1)
	for _, c := range []struct {
		framing, in string
		entries     int
		want        error
	}{
		{"line", at + "\n" + at, 2, nil},
		{"line", "a\n" + above + "\n", 1, sdk.ErrTooLarge},
		{"line", "a\n" + above, 1, sdk.ErrTooLarge},
		{"length", "\x00\x00\x00\x01a\x00\x00\x00\x00", 2, nil},
		{"length", "\x00\x00\x00\x01a\xff\xff\xff\xff", 1, sdk.ErrTooLarge},
		{"length", "\x00\x00\x00\x01a\x00\x00", 1, io.ErrUnexpectedEOF},
		{"length", "\x00\x00\x00\x01a\x00\x00\x00\x02b", 1, io.ErrUnexpectedEOF},
		{"length", "\x00\x00\x00\x01a\x00\x00\x00\x02", 1, io.ErrUnexpectedEOF},
	} {
		got, err := readFrames(t, c.framing, strings.NewReader(c.in), 300<<10)
		if len(got) != c.entries || !errors.Is(err, c.want) {
			t.Errorf("%s %.20q: %d entries and error %v, want %d and %v", c.framing, c.in, len(got), err, c.entries, c.want)
		}
	}
	failing := iotest.ErrReader(errors.New("disk on fire"))
	if _, err := readFrames(t, "line", failing, 10); err == nil || !strings.Contains(err.Error(), "on fire") {
		t.Errorf("a failing input: %v", err)
	}
	if _, err := newFrameReader("xml", nil, 1); exitCode(err) != exitUsage {
		t.Errorf("unknown framing: %v", err)
	}
}

// Whatever is framed is read back the same: by length always, by line if there
// is no newline in it.
func FuzzFraming(f *testing.F) {
	f.Add([]byte("one\ntwo\x00"), []byte(""))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		readFrames(t, "length", bytes.NewReader(first), 1<<20) // may fail, must end
		for _, framing := range framings() {
			if framing == "line" && bytes.ContainsAny(append(bytes.Clone(first), second...), "\n") {
				continue
			}
			write, err := newFrameWriter(framing)
			if err != nil {
				t.Fatal(err)
			}
			var stream bytes.Buffer
			out := bufio.NewWriter(&stream)
			if err := errors.Join(write(out, first), write(out, second), out.Flush()); err != nil {
				t.Fatal(err)
			}
			got, err := readFrames(t, framing, &stream, max(len(first), len(second)))
			if err != nil || len(got) != 2 || !bytes.Equal(got[0], first) || !bytes.Equal(got[1], second) {
				t.Errorf("%s: %q and %q came back as %q, %v", framing, first, second, got, err)
			}
		}
	})
}
