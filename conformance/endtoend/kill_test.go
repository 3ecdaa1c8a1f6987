package endtoend

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// TestPromise1And2KilledWhileProducing pipes 200,000 lines into a daemon that
// is killed at random moments and started again. The producer goes on by
// itself; afterwards every line is there once and in order.
func TestPromise1And2KilledWhileProducing(t *testing.T) {
	rounds(t, 3, func(t *testing.T, random *rand.Rand) {
		lines := corpus(t, random)
		data, address := filepath.Join(t.TempDir(), "data"), freeAddress(t)
		d := serve(t, data, address)
		must(t, address, nil, "topic", "create", "demo")

		produced := make(chan result, 1)
		go func() {
			produced <- client(t, address, bytes.NewReader(text(lines)), "produce", "demo", "--retry-for", "2m", "-o", "json")
		}()
		kills := 0
		for {
			moment := time.NewTimer(time.Duration(random.IntN(900)+20) * time.Millisecond)
			select {
			case r := <-produced:
				moment.Stop()
				if r.code != 0 {
					t.Fatalf("produce: exit code %d\n%s\ndaemon:\n%s", r.code, r.stderr, d.log)
				}
				t.Logf("killed %d times", kills)
				wantCount(t, r.stdout, len(lines))
				sameText(t, must(t, address, nil, "read", "demo", "--from", "earliest"), text(lines))
				return
			case <-moment.C:
				if kills < 6 {
					d.kill()
					kills++
					d = serve(t, data, address)
				}
			}
		}
	})
}

func wantCount(t *testing.T, report []byte, lines int) {
	t.Helper()
	var answer struct {
		Count int `json:"count"`
	}
	if err := json.Unmarshal(report, &answer); err != nil {
		t.Fatalf("produce -o json: %v in %s", err, report)
	}
	if answer.Count != lines {
		t.Fatalf("produce reports %d entries, %d lines were piped in", answer.Count, lines)
	}
}
