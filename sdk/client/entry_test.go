package client

import (
	"testing"

	"google.golang.org/protobuf/proto"

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
