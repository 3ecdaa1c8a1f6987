package client

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

func packed(payloads ...string) []byte {
	var all []byte
	for _, p := range payloads {
		m := message.Message{Payload: []byte(p)}
		all = m.AppendPackedTo(all)
	}
	return all
}

func TestEntriesOf(t *testing.T) {
	b, err := entriesOf(&tidemarkv1.Entries{
		Runs: []*tidemarkv1.EntryRun{
			{Ledger: 3, FirstEntry: 7, Count: 2, Entries: packed("a", "")},
			{Ledger: 4, FirstEntry: 1, Count: 3, Entries: packed("b", "c", "d"), Offsets: []uint32{0, 5, 9}},
		},
		Next: &tidemarkv1.Position{Ledger: 4, Entry: 11},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		at      string
		payload string
	}{{"3:7", "a"}, {"3:8", ""}, {"4:1", "b"}, {"4:6", "c"}, {"4:10", "d"}} {
		if e := b.Entries[i]; e.Position.String() != want.at || string(e.Payload) != want.payload {
			t.Errorf("entry %d is %v %q, want %v", i, e.Position, e.Payload, want)
		}
	}
	if len(b.Entries) != 5 || b.Next.String() != "4:11" {
		t.Errorf("%v", b)
	}
}

func TestDamagedFrames(t *testing.T) {
	for name, run := range map[string]*tidemarkv1.EntryRun{
		"more than it says":  {Count: 1, Entries: packed("a", "b")},
		"fewer than it says": {Count: 1 << 31, Entries: packed("a")},
		"cut off":            {Count: 1, Entries: packed("abc")[:3]},
		"no message":         {Count: 1, Entries: []byte{2, 10, 200}},
		"too few places":     {Count: 2, Entries: packed("a", "b"), Offsets: []uint32{0}},
	} {
		if b, err := entriesOf(&tidemarkv1.Entries{Runs: []*tidemarkv1.EntryRun{run}}); err == nil {
			t.Errorf("%s: %v", name, b)
		}
	}
}

func FuzzEntriesOf(f *testing.F) {
	good, err := proto.Marshal(&tidemarkv1.Entries{Runs: []*tidemarkv1.EntryRun{{Ledger: 1, Count: 2, Entries: packed("a", "b"), Offsets: []uint32{0, 4}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, frame []byte) {
		var entries tidemarkv1.Entries
		if proto.Unmarshal(frame, &entries) != nil {
			return
		}
		b, err := entriesOf(&entries)
		if err != nil {
			return
		}
		total := 0
		for _, run := range entries.GetRuns() {
			total += int(run.GetCount())
		}
		if len(b.Entries) != total {
			t.Errorf("%d entries of %d", len(b.Entries), total)
		}
	})
}

// Each message of a batch gets the verdict that is about it.
func TestVerdict(t *testing.T) {
	failure := func(first uint64, count uint32) *tidemarkv1.ProduceFailure {
		return &tidemarkv1.ProduceFailure{FirstSequence: first, Count: count, Error: &tidemarkv1.Error{Reason: "TOO_LARGE", Message: "no"}}
	}
	v := verdict{
		stored: []*tidemarkv1.StoredRun{
			{FirstSequence: 12, Count: 3, Ledger: 1, FirstEntry: 100},
			{FirstSequence: 15, Count: 1, Ledger: 2, FirstEntry: 0},
			{FirstSequence: 18, Count: 9, Ledger: 2, FirstEntry: 1},
		},
		failures: []*tidemarkv1.ProduceFailure{failure(16, 2)},
	}
	var got []string
	for _, first := range []uint64{10, 15, 19} {
		b := &batch{first: first}
		for i := range 5 {
			if first == 15 && i == 4 {
				break
			}
			b.calls = append(b.calls, call{done: func(r Receipt, err error) {
				switch {
				case errors.Is(err, sdk.ErrTooLarge):
					got = append(got, "failed")
				case err != nil:
					t.Error(err)
				case r.Duplicate:
					got = append(got, "duplicate")
				default:
					got = append(got, r.Position.String())
				}
				if r.Sequence != first+uint64(i) {
					t.Errorf("sequence %d, want %d", r.Sequence, first+uint64(i))
				}
			}})
		}
		v.end(b)
	}
	want := []string{
		"duplicate", "duplicate", "1:100", "1:101", "1:102", "2:0", "failed", "failed", "2:1",
		"2:2", "2:3", "2:4", "2:5", "2:6",
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]ProducerOptions{
		"anonymous with a name": {Anonymous: true, Name: "x"},
		"negative linger":       {Linger: -1},
		"negative batch":        {MaxBatchBytes: -1},
	} {
		if _, err := o.complete(Options{}); !errors.Is(err, sdk.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (Options{Connections: -1}).complete(); !errors.Is(err, sdk.ErrInvalid) {
		t.Errorf("%v", err)
	}
	o, err := Options{}.complete()
	if err != nil || o.RetryFor != defaultRetryFor || o.Connections != 1 {
		t.Errorf("%+v, %v", o, err)
	}
}

// The bytes of a message are copied when it is sent.
func TestS002BatchHoldsACopy(t *testing.T) {
	p := &Producer{link: &link{}, maxEntry: 1000, next: 1, options: ProducerOptions{MaxBatchBytes: 1000, MaxBatchMessages: 10}}
	payload := bytes.Repeat([]byte("A"), 100)
	m := message.Message{Payload: payload, Key: payload}
	if err := p.put(&m, m.Size(), call{}); err != nil {
		t.Fatal(err)
	}
	copy(payload, bytes.Repeat([]byte("B"), 100))
	if bytes.Contains(p.queue[0].packed, []byte("B")) {
		t.Error("the batch changed with the slice")
	}
}
