package message_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"google.golang.org/protobuf/proto"
)

// FuzzDecode holds Decode against generated code: both take the same bytes, and
// read the same from them.
func FuzzDecode(f *testing.F) {
	for i := range samples {
		if entry := samples[i].AppendTo(nil); len(entry) < 1000 {
			f.Add(entry)
		}
	}
	f.Add([]byte{0x0b, 0x0b, 0x0c, 0x0c})
	f.Add([]byte{0x32, 0x02, 0x0a, 0x05})
	f.Fuzz(func(t *testing.T, entry []byte) {
		var g tidemarkv1.Message
		theirs := proto.Unmarshal(entry, &g)
		m, ours := message.Decode(entry)
		if (theirs == nil) != (ours == nil) {
			t.Fatalf("generated code says %v, Decode says %v", theirs, ours)
		}
		if ours != nil {
			if !errors.Is(ours, message.ErrMalformed) {
				t.Fatal(ours)
			}
			return
		}
		g.ProtoReflect().SetUnknown(nil)
		if !proto.Equal(&g, generated(&m)) {
			t.Fatalf("generated code reads %v, Decode %v", &g, generated(&m))
		}
		sameParts(t, entry, &m)
		again, err := message.Decode(m.AppendTo(nil))
		if err != nil || !proto.Equal(generated(&again), &g) || !again.PublishTime.Equal(m.PublishTime) {
			t.Fatalf("encoded again it reads %+v, %v", again, err)
		}
		if m.Size() != len(m.AppendTo(nil)) {
			t.Fatalf("Size says %d", m.Size())
		}
	})
}

// sameParts checks the accessors against Decode.
func sameParts(t *testing.T, entry []byte, m *message.Message) {
	t.Helper()
	if at, ok := message.PublishTime(entry); ok == m.PublishTime.IsZero() || !at.Equal(m.PublishTime) {
		t.Fatalf("PublishTime says %v, %v", at, ok)
	}
	if key, _ := message.Key(entry); !bytes.Equal(key, m.Key) {
		t.Fatalf("Key says %q", key)
	}
	producer, sequence, ok := message.Origin(entry)
	if string(producer) != m.Producer || ok != (m.Producer != "") || ok && sequence != m.Sequence {
		t.Fatalf("Origin says %q, %d, %v", producer, sequence, ok)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(message.AppendPacked(nil, []byte("one"), nil, []byte("three")))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, packed []byte) {
		entries, err := unpack(packed)
		if err != nil && !errors.Is(err, message.ErrMalformed) {
			t.Fatal(err)
		}
		again := message.AppendPacked(nil, entries...)
		if len(again) > len(packed) || len(again) != message.PackedSize(entries...) {
			t.Fatalf("%d bytes became %d", len(packed), len(again))
		}
		if same, err := unpack(again); err != nil || len(same) != len(entries) {
			t.Fatalf("packed again: %d of %d, %v", len(same), len(entries), err)
		}
	})
}

func BenchmarkMessage(b *testing.B) {
	m := message.Message{Payload: make([]byte, 128), Key: []byte("key-0123"), PublishTime: at, Producer: "producer-1", Sequence: 123456}
	entry := m.AppendTo(nil)
	dst := make([]byte, 0, 1024)
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"Size", func() { m.Size() }},
		{"AppendTo", func() { m.AppendTo(dst) }},
		{"Decode", func() { _, _ = message.Decode(entry) }},
		{"PublishTime", func() { message.PublishTime(entry) }},
		{"Key", func() { message.Key(entry) }},
		{"Origin", func() { message.Origin(entry) }},
		{"Generated/Marshal", func() { _, _ = proto.MarshalOptions{}.MarshalAppend(dst, generated(&m)) }},
		{"Generated/Unmarshal", func() { _ = proto.Unmarshal(entry, new(tidemarkv1.Message)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.f()
			}
		})
	}
}

func BenchmarkUnpack100(b *testing.B) {
	var packed []byte
	for range 100 {
		packed = message.AppendPacked(packed, make([]byte, 150))
	}
	for b.Loop() {
		for range message.Unpack(packed) {
		}
	}
}
