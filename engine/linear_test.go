package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// The calls of a history.
const (
	callAppend      = "append"
	callRead        = "read"
	callCursorRead  = "cursor read"
	callAcknowledge = "acknowledge"
	callUpTo        = "acknowledge up to"
	callSeek        = "seek"
	callBacklog     = "backlog"
)

// call is the input of one call: value is the entry that it is about.
type call struct {
	kind  string
	value int
	// acknowledging says that acknowledgements went on during the call: a read
	// may then give entries that it had collected before they were.
	acknowledging bool
}

// answer is its output.
type answer struct {
	values  []int
	backlog int
}

// logState is the plain model: the values in order, and one cursor.
type logState struct {
	log   []int
	acked []bool
	next  int // where the cursor reads on, as an index
}

func (s logState) clone() logState {
	return logState{slices.Clone(s.log), slices.Clone(s.acked), s.next}
}

// step says whether the answer is right in that state, and the state after it.
func (s logState) step(in call, out answer) (bool, logState) {
	at := slices.Index(s.log, in.value)
	switch in.kind {
	case callAppend:
		next := s.clone()
		next.log, next.acked = append(next.log, in.value), append(next.acked, false)
		return true, next
	case callRead: // a run that begins there, and is not empty
		end := at + len(out.values)
		return len(out.values) > 0 && end <= len(s.log) && slices.Equal(out.values, s.log[at:end]), s
	case callCursorRead:
		return s.cursorRead(out.values, in.acknowledging)
	case callAcknowledge:
		next := s.clone()
		next.acked[at] = true
		return true, next
	case callUpTo:
		next := s.clone()
		for i := range at + 1 {
			next.acked[i] = true
		}
		return true, next
	case callSeek:
		next := s.clone()
		for i := range next.acked {
			next.acked[i] = i < at
		}
		next.next = at
		return true, next
	case callBacklog:
		n := 0
		for _, acked := range s.acked {
			if !acked {
				n++
			}
		}
		return out.backlog == n, s
	}
	return false, s
}

// cursorRead gives entries in order from where the cursor stands, leaving out
// what is acknowledged and nothing else.
func (s logState) cursorRead(values []int, acknowledging bool) (bool, logState) {
	next := s.clone()
	for ; next.next < len(s.log) && len(values) > 0; next.next++ {
		switch {
		case s.log[next.next] == values[0] && (acknowledging || !s.acked[next.next]):
			values = values[1:]
		case !s.acked[next.next]:
			return false, s
		}
	}
	return len(values) == 0, next
}

// history runs calls of several clients at once and returns what they saw.
type history struct {
	topic  *engine.Topic
	cursor *managedledger.Cursor
	begun  time.Time
	all    chan struct{} // closed when all clients may begin

	mu         sync.Mutex // guards all below
	positions  []sdk.Position
	operations []porcupine.Operation
}

// client makes calls by weights and records them.
func (h *history) client(t *testing.T, id int, random *rand.Rand, calls int, kinds ...string) {
	<-h.all
	for i := range calls {
		yield()
		in := call{kind: kinds[random.IntN(len(kinds))]}
		var at sdk.Position
		h.mu.Lock()
		if in.kind == callAppend {
			in.value = id*1000 + i
		} else if n := len(h.positions); n > 0 {
			at = h.positions[random.IntN(n)]
		} else {
			h.mu.Unlock()
			continue
		}
		h.mu.Unlock()
		h.record(t, id, in, at)
	}
}

// record makes one call and notes it. The entry that a call is about is told
// by its position; its value is read from the log, later, by resolve.
func (h *history) record(t *testing.T, id int, in call, at sdk.Position) {
	var out answer
	begin := time.Since(h.begun).Nanoseconds()
	err := h.do(t, &in, &out, at)
	end := time.Since(h.begun).Nanoseconds()
	if errors.Is(err, engine.ErrReadInFlight) || errors.Is(err, sdk.ErrInvalid) {
		return // refused, so nothing happened
	}
	if err != nil {
		t.Errorf("%s at %v: %v", in.kind, at, err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{ClientId: id, Input: positioned{in, at}, Call: begin, Output: out, Return: end})
}

// positioned is a call whose value is not resolved yet.
type positioned struct {
	call
	at sdk.Position
}

func (h *history) do(t *testing.T, in *call, out *answer, at sdk.Position) error {
	ctx, limit := t.Context(), managedledger.Max{Entries: 3, Bytes: 1 << 20}
	switch in.kind {
	case callAppend:
		a, err := h.topic.Append(ctx, message.Message{Payload: strconv.AppendInt(nil, int64(in.value), 10)})
		if err == nil {
			h.mu.Lock()
			h.positions = append(h.positions, a.First())
			h.mu.Unlock()
		}
		return err
	case callRead:
		r, err := h.topic.Read(ctx, at, limit)
		out.values = values(t, r)
		return err
	case callCursorRead:
		r, err := h.cursor.Read(ctx, limit)
		out.values = values(t, r)
		return err
	case callAcknowledge:
		return h.cursor.Acknowledge(ctx, at)
	case callUpTo:
		return h.cursor.AcknowledgeUpTo(ctx, at)
	case callSeek:
		return h.cursor.Seek(ctx, managedledger.At(at))
	}
	out.backlog = int(h.cursor.Backlog())
	return nil
}

func values(t *testing.T, r managedledger.ReadResult) []int {
	var all []int
	for _, e := range r.Entries {
		m, err := message.Decode(e.Payload)
		if err != nil {
			t.Error(err)
			return nil
		}
		n, err := strconv.Atoi(string(m.Payload))
		if err != nil {
			t.Error(err)
		}
		all = append(all, n)
	}
	return all
}

// resolve replaces positions by the values that stand there.
func (h *history) resolve(t *testing.T) {
	byPosition := map[sdk.Position]int{}
	for from := h.topic.Resolve(managedledger.Earliest()); ; {
		r, err := h.topic.Read(t.Context(), from, managedledger.Max{Entries: 1000, Bytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Entries) == 0 {
			break
		}
		for i, v := range values(t, r) {
			byPosition[r.Entries[i].Position] = v
		}
		from = r.Next
	}
	for i := range h.operations {
		p := h.operations[i].Input.(positioned)
		if p.kind != callAppend {
			p.value = byPosition[p.at]
		}
		h.operations[i].Input = p.call
	}
	for i := range h.operations {
		in := h.operations[i].Input.(call)
		in.acknowledging = slices.ContainsFunc(h.operations, func(o porcupine.Operation) bool {
			kind := o.Input.(call).kind
			return (kind == callAcknowledge || kind == callUpTo) && overlap(o, h.operations[i])
		})
		h.operations[i].Input = in
	}
}

func overlap(a, b porcupine.Operation) bool { return a.Call <= b.Return && b.Call <= a.Return }

// overlaps counts the calls during which another client's call went on.
func (h *history) overlaps() (n int) {
	for _, a := range h.operations {
		if slices.ContainsFunc(h.operations, func(b porcupine.Operation) bool { return a.ClientId != b.ClientId && overlap(a, b) }) {
			n++
		}
	}
	return n
}

// polite is a store that lets others run in the middle of its calls, so that
// calls meet although they are short.
type polite struct{ store }

func (p polite) Create(ctx context.Context, o sdk.CreateOptions) (sdk.LedgerWriter, error) {
	w, err := p.store.Create(ctx, o)
	return politeWriter{w}, err
}

func (p polite) Metadata() sdk.MetadataStore { return politeMetadata{p.store.Metadata()} }

type politeWriter struct{ sdk.LedgerWriter }

func (w politeWriter) Append(b sdk.Batch) {
	done := b.Done
	b.Done = func(last sdk.EntryID, err error) { yield(); done(last, err) }
	yield()
	w.LedgerWriter.Append(b)
}

func (w politeWriter) Read(ctx context.Context, r sdk.Range, done func([][]byte, error)) {
	yield()
	w.LedgerWriter.Read(ctx, r, func(payloads [][]byte, err error) { yield(); done(payloads, err) })
}

type politeMetadata struct{ sdk.MetadataStore }

func (m politeMetadata) Put(ctx context.Context, key string, value []byte, v sdk.Version) (sdk.Version, error) {
	yield()
	defer yield()
	return m.MetadataStore.Put(ctx, key, value, v)
}

func yield() {
	for range rand.IntN(5) {
		runtime.Gosched()
	}
}

func logModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return logState{} },
		Step: func(state, input, output any) (bool, any) {
			return state.(logState).step(input.(call), output.(answer))
		},
		Equal: func(a, b any) bool {
			s, o := a.(logState), b.(logState)
			return s.next == o.next && slices.Equal(s.log, o.log) && slices.Equal(s.acked, o.acked)
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
	}
}

// Concurrent appends, reads, acknowledgements and seeks look as if they had
// happened one after the other.
func TestLinearizable(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			e := start(t, polite{s})
			calls, overlapping := 0, 0
			for round := range 100 {
				seed := rand.Uint64()
				random := func(client uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, client)) }
				overrides := map[string]string{
					"max-entries-per-ledger": fmt.Sprint(2 + round%5),
					"read-policy":            []string{"complete-at-lac", "extend-on-executor"}[round%2],
					"submission":             []string{"direct", "ordered-executor"}[round/2%2],
					"placement":              []string{"inline", "on-executor"}[round/4%2],
				}
				topic := create(t, e, fmt.Sprint("t", round), overrides)
				cursor, err := topic.OpenCursor(t.Context(), "c", managedledger.CursorOptions{Durable: round%3 == 0, From: managedledger.Earliest()})
				if err != nil {
					t.Fatal(err)
				}
				h := &history{topic: topic, cursor: cursor, begun: time.Now(), all: make(chan struct{})}
				h.record(t, 0, call{kind: callAppend, value: 1}, sdk.Position{})
				var clients sync.WaitGroup // each ends with its calls
				clients.Go(func() { h.client(t, 1, random(1), 8, callAppend) })
				clients.Go(func() { h.client(t, 2, random(2), 8, callAppend, callRead) })
				clients.Go(func() { h.client(t, 3, random(3), 8, callCursorRead, callSeek, callBacklog) })
				clients.Go(func() { h.client(t, 4, random(4), 8, callAcknowledge, callBacklog, callUpTo) })
				clients.Go(func() { h.client(t, 5, random(5), 8, callAcknowledge, callRead) })
				close(h.all)
				clients.Wait()
				h.resolve(t)
				calls += len(h.operations)
				overlapping += h.overlaps()
				if porcupine.CheckOperationsTimeout(logModel(), h.operations, 20*time.Second) == porcupine.Illegal {
					for _, o := range h.operations {
						t.Logf("client %d, %d to %d: %+v -> %+v", o.ClientId, o.Call, o.Return, o.Input, o.Output)
					}
					t.Fatalf("round %d (%v) is not linearizable, seed %d", round, overrides, seed)
				}
			}
			if t.Logf("%d of %d calls went on while another one did", overlapping, calls); overlapping < calls/4 {
				t.Error("too few calls met another one to show anything")
			}
		})
	}
}
