package message_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"google.golang.org/protobuf/encoding/protodelim"
)

func unpack(packed []byte) (entries [][]byte, err error) {
	for entry, e := range message.Unpack(packed) {
		if e != nil {
			return entries, e
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func TestPacked(t *testing.T) {
	entries := [][]byte{[]byte("one"), {}, bytes.Repeat([]byte("x"), 300), []byte("four")}
	packed := message.AppendPacked(nil, entries...)
	if len(packed) != message.PackedSize(entries...) {
		t.Errorf("%d bytes, PackedSize says %d", len(packed), message.PackedSize(entries...))
	}
	got, err := unpack(packed)
	if err != nil || !slices.EqualFunc(got, entries, bytes.Equal) {
		t.Errorf("got %q, %v", got, err)
	}
	for range message.Unpack(packed) {
		break // must not go on after that
	}
	if got, err := unpack(nil); len(got) != 0 || err != nil {
		t.Errorf("of nothing: %q, %v", got, err)
	}
}

func TestUnpackMalformed(t *testing.T) {
	for name, tail := range map[string][]byte{
		"cut in an entry":  {5, 'a', 'b'},
		"cut in a length":  {0x80},
		"length above all": {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"length too long":  {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
	} {
		packed := append(message.AppendPacked(nil, []byte("good")), tail...)
		got, err := unpack(packed)
		if len(got) != 1 || string(got[0]) != "good" || !errors.Is(err, message.ErrMalformed) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestPackedIsDelimited(t *testing.T) {
	var packed []byte
	for i := range samples {
		packed = samples[i].AppendPackedTo(packed)
	}
	r := bytes.NewReader(packed)
	for i := range samples {
		var g tidemarkv1.Message
		if err := protodelim.UnmarshalFrom(r, &g); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if !bytes.Equal(g.Payload, samples[i].Payload) {
			t.Errorf("message %d differs", i)
		}
	}
	if r.Len() != 0 {
		t.Errorf("%d bytes are left", r.Len())
	}
}
