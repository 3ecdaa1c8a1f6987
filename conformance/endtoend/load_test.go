package endtoend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// smallLedgers make a topic roll all the time, and remove what was read.
var smallLedgers = []string{
	"--set", "topics.max-entries-per-ledger=100", "--set", "topics.retention-size=0B", "--set", "topics.retention-time=0s",
	"--set", "maintenance.interval=100ms",
}

// load is a producer of numbered lines that runs until it has sent them all.
func load(t *testing.T, address, topic string, lines []byte, more ...string) <-chan result {
	t.Helper()
	done := make(chan result, 1)
	go func() {
		done <- client(t, address, bytes.NewReader(lines), append([]string{"produce", topic, "-o", "json"}, more...)...)
	}()
	return done
}

// holding waits until a topic holds at least count entries.
func holding(t *testing.T, address, topic string, count int) {
	t.Helper()
	eventually(t, startLimit, fmt.Sprintf("%d entries in %s", count, topic), func() bool {
		return bytes.Count(client(t, address, nil, "read", topic, "--from", "earliest").stdout, []byte("\n")) >= count
	})
}

// TestKilledWhileRollingAndTrimming kills the daemon again and again while a
// topic of tiny ledgers is written to, read through a cursor and trimmed behind
// it. Everything comes, in order; only what was not acknowledged comes again.
func TestKilledWhileRollingAndTrimming(t *testing.T) {
	rounds(t, 2, func(t *testing.T, random *rand.Rand) {
		const count = 150_000
		lines := manyLines(count)
		data, address := filepath.Join(t.TempDir(), "data"), freeAddress(t)
		d := serve(t, data, address, smallLedgers...)
		must(t, address, nil, "topic", "create", "demo")
		must(t, address, nil, "topic", "create", "fleeting")
		must(t, address, nil, "cursor", "create", "demo", "billing", "--from", "earliest")
		produced := load(t, address, "demo", lines, "--retry-for", "1m")
		var got []byte
		kills, begun := 0, time.Now()
		for bytes.Count(got, []byte("\n")) < count {
			killed := make(chan struct{})
			moment := time.AfterFunc(time.Duration(random.IntN(400)+20)*time.Millisecond, func() {
				if kills < 8 {
					d.kill()
				}
				close(killed)
			})
			client(t, address, nil, "topic", "delete", "fleeting")
			client(t, address, nil, "topic", "create", "fleeting")
			read := client(t, address, nil, "read", "demo", "--cursor", "billing", "--retry-for", "0s")
			got = join(t, got, read.stdout)
			if moment.Stop() {
				continue
			}
			<-killed
			if kills < 8 {
				kills++
				d = serve(t, data, address, smallLedgers...)
			}
		}
		t.Logf("killed %d times, %s", kills, time.Since(begun))
		if r := <-produced; r.code != 0 {
			t.Fatalf("produce: exit code %d\n%s", r.code, r.stderr)
		} else {
			wantCount(t, r.stdout, count)
		}
		sameText(t, got, lines)
		wantTrimmed(t, address, "demo")
		noTrace(t, d.log.String())
	})
}

// join puts what a cursor gave behind what it gave before, of which the end may
// come again. A last line that a kill cut off is left out.
func join(t *testing.T, before, now []byte) []byte {
	t.Helper()
	now = now[:bytes.LastIndexByte(now, '\n')+1]
	if len(now) == 0 {
		return before
	}
	first := now[:bytes.IndexByte(now, '\n')+1]
	at := bytes.Index(before, first)
	if at < 0 {
		at = len(before)
	}
	return append(before[:at:at], now...)
}

// wantTrimmed waits until hardly any ledger of a topic that was read to its end
// is left.
func wantTrimmed(t *testing.T, address, topic string) {
	t.Helper()
	eventually(t, startLimit, "the ledgers that were read are gone", func() bool {
		var answer struct {
			Ledgers []json.RawMessage `json:"ledgers"`
		}
		if err := json.Unmarshal(must(t, address, nil, "topic", "describe", topic, "-o", "json"), &answer); err != nil {
			t.Fatal(err)
		}
		return len(answer.Ledgers) <= 2
	})
}

// TestS071SIGTERMUnderLoad asks a daemon to end that has producers at full
// speed, followers of which some do not read, and people who connected and
// said nothing. It ends in time and in order, and nothing acknowledged is lost.
func TestS071SIGTERMUnderLoad(t *testing.T) {
	data, address := filepath.Join(t.TempDir(), "data"), freeAddress(t)
	d := serve(t, data, address)
	must(t, address, nil, "topic", "create", "demo")
	lines := manyLines(400_000)
	var producers []<-chan result
	for range 2 {
		producers = append(producers, load(t, address, "demo", lines, "--retry-for", "0s"))
	}
	stuckFollowers(t, d, 20)
	for _, half := range []string{"", "PRI * HT", "GET /v1/top"} {
		for _, to := range []string{d.addresses.GRPC, d.addresses.HTTP} {
			fmt.Fprint(connect(t, to), half)
		}
	}
	holding(t, address, "demo", 10_000)
	begun := time.Now()
	if code := d.stop(); code != 0 {
		t.Errorf("exit code %d after %s\n%s", code, time.Since(begun), d.log)
	}
	noTrace(t, d.log.String())

	acknowledged := 0
	for _, p := range producers {
		r := <-p
		var answer struct {
			Count int `json:"count"`
		}
		if err := json.Unmarshal(r.stdout, &answer); err != nil {
			t.Fatalf("produce: exit code %d, %v in %s\n%s", r.code, err, r.stdout, r.stderr)
		}
		if answer.Count < bytes.Count(lines, []byte("\n")) && r.code != exitUnavailable && r.code != exitFailure {
			t.Errorf("produce was cut off with exit code %d\n%s", r.code, r.stderr)
		}
		acknowledged += answer.Count
	}
	serve(t, data, address)
	if got := bytes.Count(whole(t, address, "demo"), []byte("\n")); got < acknowledged {
		t.Errorf("%d lines were acknowledged and %d are there", acknowledged, got)
	}
}

// stuckFollowers follow a topic over HTTP and read nothing of it.
func stuckFollowers(t *testing.T, d *daemon, count int) {
	t.Helper()
	for range count {
		conn := connect(t, d.addresses.HTTP)
		if _, err := io.WriteString(conn, "GET /v1/topics/demo/lines?from=earliest&follow=true HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
}

func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
