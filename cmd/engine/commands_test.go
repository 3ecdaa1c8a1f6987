package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tidemark-engine/tidemark/engine/config"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/client"
)

// bench is a daemon in this process, and command lines that speak to it.
type bench struct {
	t      *testing.T
	server string
}

func newBench(t *testing.T, change func(*config.Config)) *bench {
	t.Helper()
	c := testConfig(t)
	c.Store.Kind = "memory"
	c.Log.Level = "error"
	if change != nil {
		change(&c)
	}
	d, err := start(t.Context(), c, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return &bench{t, d.door.addresses.GRPC}
}

func (b *bench) run(in string, arguments ...string) outcome {
	b.t.Helper()
	return engineRunIn(b.t, b.t.Context(), in, []string{"TIDEMARK_SERVER=" + b.server}, arguments...)
}

// must is run for what has to succeed; it returns standard output.
func (b *bench) must(in string, arguments ...string) string {
	b.t.Helper()
	result := b.run(in, arguments...)
	if result.code != exitSuccess {
		b.t.Fatalf("engine %s: exit code %d: %s", strings.Join(arguments, " "), result.code, result.err)
	}
	return result.out
}

func (b *bench) produced(in string, arguments ...string) produced {
	b.t.Helper()
	var sum produced
	if err := json.Unmarshal([]byte(b.must(in, append([]string{"produce", "-o", "json"}, arguments...)...)), &sum); err != nil {
		b.t.Fatal(err)
	}
	return sum
}

func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestProduceAndRead(t *testing.T) {
	b := newBench(t, nil)
	b.must("", "topic", "create", "demo")
	b.must("", "topic", "create", "demo") // again is no error
	same(t, "table", b.must("one\n\n\xff\xfe\r\nlast", "produce", "demo"), "4 entries, the last one at 0:3\n")
	same(t, "read", b.must("", "read", "demo"), "one\n\n\xff\xfe\r\nlast\n")
	same(t, "from position", b.must("", "read", "demo", "--from", "0:2"), "\xff\xfe\r\nlast\n")
	same(t, "from latest", b.must("", "read", "demo", "--from", "latest"), "")
	same(t, "limit", b.must("", "read", "demo", "-n", "1"), "one\n")

	framed := b.must("", "read", "demo", "--framing", "length")
	b.must("", "topic", "create", "copy")
	sum := b.produced(framed, "copy", "--framing", "length")
	same(t, "count", sum.Count, 4)
	same(t, "copy", b.must("", "read", "copy"), "one\n\n\xff\xfe\r\nlast\n")

	sum = b.produced("from stdin\n", "copy", "--key", "k", file(t, "a", "no newline at the end"), "-", file(t, "b", ""), file(t, "c", "c\n"))
	same(t, "files", sum.Count, 3)
	var lines []entryView
	decoder := json.NewDecoder(strings.NewReader(b.must("", "read", "copy", "-o", "json")))
	for {
		var line entryView
		if err := decoder.Decode(&line); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	same(t, "lines", len(lines), 7)
	same(t, "payload", string(lines[2].Payload), "\xff\xfe\r")
	same(t, "key", string(lines[4].Key), "k")
	same(t, "position", lines[6].Position, sum.Last)
	if lines[6].Time == nil || lines[1].Payload == nil {
		t.Errorf("lines %+v", lines)
	}
}

func TestProduceUnderAName(t *testing.T) {
	b := newBench(t, nil)
	b.must("", "topic", "create", "demo")
	for _, c := range []struct{ text, want string }{
		{"1\n2\n3\n", "3 with 0 duplicates"},
		{"1\n2\n3\n", "3 with 3 duplicates"},
		{"1\n2\n3\n4\n5\n", "5 with 3 duplicates"},
	} {
		sum := b.produced("", "demo", "--producer", "app", file(t, "app.log", c.text))
		same(t, "stored", fmt.Sprintf("%d with %d duplicates", sum.Count, sum.Duplicates), c.want)
	}
	same(t, "read", b.must("", "read", "demo"), "1\n2\n3\n4\n5\n")
	b.run("x\n", "produce", "demo", "--producer", "\xff").want(t, exitUsage, "UTF-8")
}

// What one run sent twice, because a connection broke, was not stored before.
func TestSentAgainIsNoDuplicate(t *testing.T) {
	tally := &tally{}
	tally.answer(client.Receipt{Position: sdk.Position{Entry: 1}}, nil)
	tally.answer(client.Receipt{Duplicate: true}, nil)
	sum, _ := tally.result()
	same(t, "sent again", sum, produced{Count: 2, First: "0:1"})
	tally.answer(client.Receipt{Position: sdk.Position{Entry: 3}}, nil)
	sum, _ = tally.result()
	same(t, "and one more", sum, produced{Count: 3, First: "0:1", Last: "0:3"})
}

func TestReadThroughCursor(t *testing.T) {
	b := newBench(t, nil)
	b.must("", "topic", "create", "demo")
	b.must("1\n2\n3\n4\n5\n", "produce", "demo")
	same(t, "first two", b.must("", "read", "demo", "--cursor", "billing", "-n", "2"), "1\n2\n")
	same(t, "one more", b.must("", "read", "demo", "--cursor", "billing", "-n", "1"), "3\n")
	same(t, "the rest", b.must("", "read", "demo", "--cursor", "billing"), "4\n5\n")
	same(t, "nothing", b.must("", "read", "demo", "--cursor", "billing"), "")
	b.must("6\n", "produce", "demo")
	same(t, "what came", b.must("", "read", "demo", "--cursor", "billing"), "6\n")
	same(t, "another cursor", b.must("", "read", "demo", "--cursor", "audit", "--from", "0:4"), "5\n6\n")

	var v cursorView
	if err := json.Unmarshal([]byte(b.must("", "cursor", "seek", "demo", "billing", "0:1", "-o", "json")), &v); err != nil {
		t.Fatal(err)
	}
	same(t, "backlog", v.Backlog, 5)
	b.must("", "cursor", "skip", "demo", "billing", "2")
	same(t, "after skip", b.must("", "read", "demo", "--cursor", "billing", "-n", "1"), "4\n")
	b.must("", "cursor", "clear", "demo", "billing")
	same(t, "after clear", b.must("", "read", "demo", "--cursor", "billing"), "")
	b.must("", "cursor", "create", "demo", "new", "--from", "latest")
	b.run("", "cursor", "create", "demo", "new").want(t, exitFailure, "exists")
	if list := b.must("", "cursor", "list", "demo"); strings.Count(list, "\n") != 4 || !strings.Contains(list, "audit") {
		t.Errorf("list:\n%s", list)
	}
	b.must("", "cursor", "expire", "demo", "audit", "0s")
	b.must("", "cursor", "delete", "demo", "new")
	b.run("", "cursor", "describe", "demo", "new").want(t, exitNotFound, "new")
}

// brokenPipe takes some bytes and then fails, as a pipe whose reader is gone.
type brokenPipe struct{ room int }

func (p *brokenPipe) Write(text []byte) (int, error) {
	n := min(len(text), p.room)
	p.room -= n
	if n < len(text) {
		return n, errors.New("broken pipe")
	}
	return n, nil
}

// What could not be written out is not acknowledged.
func TestS079AcknowledgesOnlyWhatWasWritten(t *testing.T) {
	b := newBench(t, nil)
	b.must("", "topic", "create", "demo")
	b.must("1\n2\n3\n", "produce", "demo")
	var errs bytes.Buffer
	code := run(t.Context(), []string{"read", "demo", "--cursor", "billing", "--server", b.server},
		streams{in: strings.NewReader(""), out: &brokenPipe{room: 3}, err: &errs})
	same(t, "exit code", code, exitFailure)
	if !strings.Contains(errs.String(), "broken pipe") {
		t.Errorf("message: %s", &errs)
	}
	same(t, "comes again", b.must("", "read", "demo", "--cursor", "billing"), "1\n2\n3\n")
}

// cancelWriter ends a context once it has seen a text.
type cancelWriter struct {
	bytes.Buffer
	after  string
	cancel context.CancelFunc
}

func (w *cancelWriter) Write(text []byte) (int, error) {
	n, err := w.Buffer.Write(text)
	if strings.Contains(w.String(), w.after) {
		w.cancel()
	}
	return n, err
}

// A signal ends following in success, and what was written out is acknowledged.
func TestFollowEndsWithSignal(t *testing.T) {
	b := newBench(t, nil)
	b.must("", "topic", "create", "demo")
	b.must("1\n2\n", "produce", "demo")
	for _, more := range [][]string{{"--cursor", "billing"}, {}} {
		ctx, cancel := context.WithCancel(t.Context())
		out := &cancelWriter{after: "2\n", cancel: cancel}
		arguments := append([]string{"read", "demo", "--follow", "--server", b.server}, more...)
		same(t, "exit code", run(ctx, arguments, streams{in: strings.NewReader(""), out: out, err: t.Output()}), exitSuccess)
		same(t, "output", out.String(), "1\n2\n")
	}
	b.must("3\n", "produce", "demo")
	same(t, "goes on", b.must("", "read", "demo", "--cursor", "billing"), "3\n")
}

func TestTopicCommands(t *testing.T) {
	b := newBench(t, nil)
	b.must("", "topic", "create", "demo", "retention-time=7d", "read-policy=extend-on-executor")
	b.must("", "topic", "create", "a/b")
	same(t, "list", b.must("", "topic", "list"), "a/b\ndemo\n")
	if set := b.must("", "topic", "set", "demo", "read-policy=complete-at-lac", "submission=ordered-executor", "retention-time="); !strings.Contains(set, "ordered-executor  topic") {
		t.Errorf("set:\n%s", set)
	}
	b.must("1\n2\n", "produce", "demo")
	b.must("", "topic", "roll", "demo")
	var v topicView
	if err := json.Unmarshal([]byte(b.must("", "topic", "describe", "demo", "-o", "json")), &v); err != nil {
		t.Fatal(err)
	}
	same(t, "entries", v.Entries, 2)
	same(t, "setting", v.Settings["retention-time"], settingView{"unlimited", "engine"})
	if !strings.Contains(b.must("", "topic", "describe", "demo"), "LEDGER") {
		t.Error("no ledgers in the table")
	}
	if dump := b.must("", "dump", "demo"); strings.Count(dump, "\n") != 3 || !strings.HasPrefix(dump, `{"topic":{"name":"demo"`) {
		t.Errorf("dump:\n%s", dump)
	}
	b.must("", "topic", "trim", "demo")
	b.must("", "topic", "truncate", "demo")
	same(t, "truncated", b.must("", "read", "demo"), "")
	b.must("", "topic", "terminate", "demo")
	b.run("x\n", "produce", "demo").want(t, exitFailure, "terminated")
	same(t, "follow ends", b.must("", "read", "demo", "--follow"), "")
	b.must("", "topic", "delete", "demo")
	b.run("", "topic", "describe", "demo").want(t, exitNotFound, "demo", "engine topic create")
}

func TestBadInput(t *testing.T) {
	b := newBench(t, func(c *config.Config) { c.Topics.MaxEntrySize = 1 << 20 })
	b.must("", "topic", "create", "demo")
	for _, c := range []struct {
		arguments []string
		in        string
		code      int
		says      string
	}{
		{[]string{"topic", "create", "a\xff"}, "", exitUsage, "UTF-8"},
		{[]string{"topic", "create", "../x"}, "", exitUsage, ".."},
		{[]string{"topic", "create", "x", "retention-time"}, "", exitUsage, "KEY=VALUE"},
		{[]string{"topic", "create", "x", "retention=1s"}, "", exitUsage, "retention-size"},
		{[]string{"topic", "set", "demo"}, "", exitUsage, "nothing to set"},
		{[]string{"topic", "set", "nosuch", "placement=inline"}, "", exitNotFound, "nosuch"},
		{[]string{"cursor", "skip", "demo", "c", "-1"}, "", exitUsage, "-1"},
		{[]string{"cursor", "seek", "demo", "c", "earliest"}, "", exitNotFound, "c"},
		{[]string{"cursor", "create", "demo", "c", "--from", "99:1"}, "", exitUsage, "99:1 is beyond the end of the topic, which is at 0:0"},
		{[]string{"cursor", "expire", "demo", "c", "old"}, "", exitUsage, "is not an age"},
		{[]string{"read", "demo", "--from", "yesterday"}, "", exitUsage, "yesterday"},
		{[]string{"read", "demo", "--limit", "-1"}, "", exitUsage, "a number of entries is a whole number from 0"},
		{[]string{"read", "demo", "--framing", "xml"}, "", exitUsage, "neither line nor length"},
		{[]string{"read", "nosuch"}, "", exitNotFound, "nosuch"},
		{[]string{"read", "nosuch", "--cursor", "c"}, "", exitNotFound, "nosuch"},
		{[]string{"produce", "nosuch"}, "x\n", exitNotFound, "nosuch"},
		{[]string{"produce", "demo", "/nowhere"}, "", exitUsage, "no such file"},
		{[]string{"produce", "demo", "/"}, "", exitUsage, "is a directory"},
		{[]string{"produce", "demo"}, "ok\n" + strings.Repeat("x", 1<<20+1), exitFailure, "line 2 is larger than 1048"},
		{[]string{"produce", "demo"}, strings.Repeat("x", 1<<20), exitFailure, "too large"}, // with its encoding it is larger
		{[]string{"produce", "demo", "--framing", "length"}, "\x00\x00\x00\x09x", exitFailure, "entry 1"},
		{[]string{"topic", "list", "--server", "127.0.0.1:1"}, "", exitUnavailable, "127.0.0.1:1"},
		{[]string{"produce", "demo", "--server", "127.0.0.1:1", "--retry-for", "0s"}, "", exitUnavailable, "127.0.0.1:1"},
	} {
		t.Run(strings.Join(c.arguments, " "), func(t *testing.T) { b.run(c.in, c.arguments...).want(t, c.code, c.says) })
	}
	same(t, "what was stored before the long line", b.must("", "read", "demo"), "ok\n")
}

func TestCompletion(t *testing.T) {
	b := newBench(t, nil)
	b.must("", "topic", "create", "demo")
	b.must("", "cursor", "create", "demo", "billing")
	for arguments, want := range map[string]string{
		"topic describe |":             "demo",
		"cursor seek demo |":           "billing",
		"read demo -o |":               "json",
		"produce demo --framing |":     "length",
		"topic describe --server x: |": "",
	} {
		arguments := strings.Fields(strings.TrimSuffix(arguments, "|"))
		if out := b.must("", append(append([]string{"__complete"}, arguments...), "")...); !strings.Contains(out, want) {
			t.Errorf("%v: %s", arguments, out)
		}
	}
}
