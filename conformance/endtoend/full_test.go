package endtoend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manyLines returns count different lines.
func manyLines(count int) []byte {
	var text bytes.Buffer
	for i := range count {
		fmt.Fprintf(&text, "%09d some text that takes a little room on a small disk, and then a little more\n", i)
	}
	return text.Bytes()
}

// produceUntilFull pipes in more than the volume holds, and returns how many
// lines were acknowledged.
func produceUntilFull(t *testing.T, d *daemon, topic string, lines []byte) int {
	t.Helper()
	r := client(t, d.addresses.GRPC, bytes.NewReader(lines), "produce", topic, "--retry-for", "1s", "-o", "json")
	if r.code != exitFailure && r.code != exitUnavailable {
		t.Fatalf("produce on a disk that fills up: exit code %d\n%s", r.code, r.stderr)
	}
	if !strings.Contains(string(r.stderr), "no space left") {
		t.Errorf("the message does not say that there is no space:\n%s", r.stderr)
	}
	var answer struct {
		Count int `json:"count"`
	}
	if err := json.Unmarshal(r.stdout, &answer); err != nil {
		t.Fatalf("produce -o json: %v in %s", err, r.stdout)
	}
	return answer.Count
}

// TestS050S052DiskFullAndRoomAgain fills a volume by producing, reads on the
// full disk, makes room, and goes on, without a restart.
func TestS050S052DiskFullAndRoomAgain(t *testing.T) {
	volume, lines := smallVolume(t, "192m"), manyLines(1_500_000)
	filler := filepath.Join(volume, "filler")
	fill(t, filler, 96<<20)
	d := serve(t, filepath.Join(volume, "data"), "127.0.0.1:0", forSmallVolume...)
	must(t, d.addresses.GRPC, nil, "topic", "create", "demo")
	must(t, d.addresses.GRPC, nil, "cursor", "create", "demo", "billing", "--from", "earliest")
	count := produceUntilFull(t, d, "demo", lines)
	if count == 0 {
		t.Fatal("nothing was acknowledged on a volume with room")
	}
	before := whole(t, d.addresses.GRPC, "demo")
	wantPrefix(t, before, lines, count)
	if code, text := d.status("/readyz"); code == 200 || !strings.Contains(text, "no space left") {
		t.Errorf("/readyz on a full disk: %d %s", code, text)
	}
	if code, _ := d.status("/livez"); code != 200 {
		t.Errorf("/livez on a full disk: %d", code)
	}
	if got := must(t, d.addresses.GRPC, nil, "read", "demo", "--cursor", "billing", "--limit", "1000"); bytes.Count(got, []byte("\n")) != 1000 {
		t.Errorf("a cursor on a full disk read %d lines", bytes.Count(got, []byte("\n")))
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	eventually(t, startLimit, "ready again, now that there is room", func() bool {
		code, _ := d.status("/readyz")
		return code == 200
	})
	must(t, d.addresses.GRPC, strings.NewReader("there is room again\n"), "produce", "demo")
	sameText(t, whole(t, d.addresses.GRPC, "demo"), append(before, "there is room again\n"...))
	if code := d.stop(); code != 0 {
		t.Errorf("exit code %d\n%s", code, d.log)
	}
	noTrace(t, d.log.String())
}

// TestS049S051RestartOnAFullDisk kills a daemon that is out of space and starts
// it again, twice, while there is still none.
func TestS049S051RestartOnAFullDisk(t *testing.T) {
	volume, lines := smallVolume(t, "128m"), manyLines(1_000_000)
	data, filler := filepath.Join(volume, "data"), filepath.Join(volume, "filler")
	fill(t, filler, 80<<20)
	d := serve(t, data, "127.0.0.1:0", forSmallVolume...)
	must(t, d.addresses.GRPC, nil, "topic", "create", "demo")
	must(t, d.addresses.GRPC, nil, "topic", "create", "small")
	must(t, d.addresses.GRPC, strings.NewReader("one\n"), "produce", "small")
	count := produceUntilFull(t, d, "demo", lines)
	for range 2 {
		d.kill()
		noTrace(t, d.log.String())
		d = serve(t, data, "127.0.0.1:0", forSmallVolume...)
		wantPrefix(t, whole(t, d.addresses.GRPC, "demo"), lines, count)
		if got := whole(t, d.addresses.GRPC, "small"); string(got) != "one\n" {
			t.Errorf("the small topic holds %q", got)
		}
	}
	must(t, d.addresses.GRPC, nil, "topic", "delete", "demo")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	eventually(t, startLimit, "adds go on, now that there is room", func() bool {
		return client(t, d.addresses.GRPC, strings.NewReader("two\n"), "produce", "small", "--retry-for", "0s").code == 0
	})
	if got := whole(t, d.addresses.GRPC, "small"); string(got) != "one\ntwo\n" {
		t.Errorf("the small topic holds %q", got)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit code %d\n%s", code, d.log)
	}
	noTrace(t, d.log.String())
}

// TestS050DeletingMakesRoom fills a volume and makes room by removing a topic,
// without a restart.
func TestS050DeletingMakesRoom(t *testing.T) {
	volume := smallVolume(t, "160m") // the store keeps a few of its logs, to write over
	d := serve(t, filepath.Join(volume, "data"), "127.0.0.1:0", forSmallVolume...)
	must(t, d.addresses.GRPC, nil, "topic", "create", "large")
	must(t, d.addresses.GRPC, nil, "topic", "create", "small")
	must(t, d.addresses.GRPC, strings.NewReader("one\n"), "produce", "small")
	produceUntilFull(t, d, "large", manyLines(2_000_000))
	must(t, d.addresses.GRPC, nil, "topic", "delete", "large")
	eventually(t, startLimit, "ready again, now that a topic is gone", func() bool {
		code, _ := d.status("/readyz")
		return code == 200
	})
	must(t, d.addresses.GRPC, strings.NewReader("two\n"), "produce", "small")
	if got := whole(t, d.addresses.GRPC, "small"); string(got) != "one\ntwo\n" {
		t.Errorf("the small topic holds %q", got)
	}
}

// TestS049NothingLeft starts a daemon again on a volume on which another file
// has taken all that was left. What is there can be read.
func TestS049NothingLeft(t *testing.T) {
	volume, lines := smallVolume(t, "96m"), manyLines(1_000_000)
	data := filepath.Join(volume, "data")
	d := serve(t, data, "127.0.0.1:0", forSmallVolume...)
	must(t, d.addresses.GRPC, nil, "topic", "create", "demo")
	count := produceUntilFull(t, d, "demo", lines)
	fill(t, filepath.Join(volume, "filler"), 0)
	d.kill()
	fill(t, filepath.Join(volume, "more"), 0) // the kill may have given back a little
	noTrace(t, d.log.String())
	d = serve(t, data, "127.0.0.1:0", forSmallVolume...)
	wantPrefix(t, whole(t, d.addresses.GRPC, "demo"), lines, count)
	noTrace(t, d.log.String())
}
