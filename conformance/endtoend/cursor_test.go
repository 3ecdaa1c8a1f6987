package endtoend

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// readLine is one line of `engine read -o json`.
type readLine struct {
	Position string `json:"position"`
	Payload  []byte `json:"payload"`
}

// parseRead returns the lines of a read's output; a last line that a kill cut
// off is left out.
func parseRead(t *testing.T, out []byte) []readLine {
	t.Helper()
	var lines []readLine
	scanner := bufio.NewScanner(bytes.NewReader(out))
	scanner.Buffer(nil, 8<<20)
	for scanner.Scan() {
		var line readLine
		if json.Unmarshal(scanner.Bytes(), &line) != nil {
			break
		}
		lines = append(lines, line)
	}
	return lines
}

// TestPromise5CursorsSurviveKills reads a topic through a cursor while the
// daemon is killed and started again. What a command wrote out before the kill
// comes again only where its acknowledgement had not been answered; nothing is
// left out, and the order holds.
func TestPromise5CursorsSurviveKills(t *testing.T) {
	rounds(t, 2, func(t *testing.T, random *rand.Rand) {
		lines := corpus(t, random)
		data, address := filepath.Join(t.TempDir(), "data"), freeAddress(t)
		d := serve(t, data, address)
		must(t, address, nil, "topic", "create", "demo")
		must(t, address, bytes.NewReader(text(lines)), "produce", "demo")
		rank := map[string]int{}
		for i, line := range parseRead(t, must(t, address, nil, "read", "demo", "--from", "earliest", "-o", "json")) {
			rank[line.Position] = i
			if !bytes.Equal(line.Payload, lines[i]) {
				t.Fatalf("line %d at %s is %.80q, want %.80q", i, line.Position, line.Payload, lines[i])
			}
		}

		next, again := 0, 0
		for runs := 0; next < len(lines); runs++ {
			if runs > 200 {
				t.Fatalf("after %d runs only %d of %d lines were read", runs, next, len(lines))
			}
			killed := make(chan struct{})
			moment := time.AfterFunc(time.Duration(random.IntN(600)+100)*time.Millisecond, func() {
				d.kill()
				close(killed)
			})
			out := client(t, address, nil, "read", "demo", "--cursor", "billing", "--retry-for", "0s", "-o", "json").stdout
			if !moment.Stop() {
				<-killed
				d = serve(t, data, address)
			}
			for i, line := range parseRead(t, out) {
				at := rank[line.Position]
				if i == 0 && at < next {
					again += next - at
					next = at
				}
				if at != next {
					t.Fatalf("run %d gave %s, which is line %d; expected was line %d", runs, line.Position, at, next)
				}
				next++
			}
		}
		t.Logf("%d lines came again after a kill", again)
		if out := must(t, address, nil, "read", "demo", "--cursor", "billing"); len(out) != 0 {
			t.Fatalf("everything was acknowledged, and %d bytes came again", len(out))
		}
		sameText(t, must(t, address, nil, "read", "demo", "--cursor", "audit"), text(lines))
	})
}
