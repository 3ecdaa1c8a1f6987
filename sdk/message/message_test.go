package message_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

var at = time.Unix(1_700_000_000, 123_456_789)

func many(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprint("name", i)] = fmt.Sprint("value", i)
	}
	return m
}

var samples = []struct {
	name string
	message.Message
}{
	{"nothing", message.Message{}},
	{"payload", message.Message{Payload: []byte("hello")}},
	{"key only", message.Message{Key: []byte("k")}},
	{"all", message.Message{Payload: []byte("hello"), Key: []byte{0, 255}, PublishTime: at, Producer: "p/1", Sequence: 1<<64 - 1, Attributes: many(3)}},
	{"before 1970", message.Message{PublishTime: time.Unix(-5, 1)}},
	{"at 1970", message.Message{PublishTime: time.Unix(0, 0)}},
	{"sequence of two bytes", message.Message{Producer: "é", Sequence: 200}},
	{"large", message.Message{Payload: bytes.Repeat([]byte("x"), 70_000)}},
	{"more attributes than usual", message.Message{Attributes: many(40)}},
	{"empty attribute", message.Message{Attributes: map[string]string{"": ""}}},
}

// generated is the same message for generated code.
func generated(m *message.Message) *tidemarkv1.Message {
	g := &tidemarkv1.Message{Payload: m.Payload, Key: m.Key, Producer: m.Producer, Sequence: m.Sequence, Attributes: m.Attributes}
	if !m.PublishTime.IsZero() {
		g.PublishTime = m.PublishTime.UnixNano()
	}
	return g
}

func TestRoundTrip(t *testing.T) {
	for i := range samples {
		c := &samples[i]
		t.Run(c.name, func(t *testing.T) {
			entry := c.AppendTo(nil)
			if len(entry) != c.Size() {
				t.Errorf("%d bytes, Size says %d", len(entry), c.Size())
			}
			got, err := message.Decode(entry)
			if err != nil {
				t.Fatal(err)
			}
			if !got.PublishTime.Equal(c.PublishTime) {
				t.Errorf("publish time %v, want %v", got.PublishTime, c.PublishTime)
			}
			got.PublishTime = c.PublishTime
			if !reflect.DeepEqual(got, c.Message) {
				t.Errorf("got %+v, want %+v", got, c.Message)
			}
			if again := c.AppendTo([]byte("before")); string(again) != "before"+string(entry) {
				t.Error("another encoding the second time")
			}
		})
	}
}

func TestGeneratedCodeAgrees(t *testing.T) {
	for i := range samples {
		c := &samples[i]
		t.Run(c.name, func(t *testing.T) {
			entry := c.AppendTo(nil)
			var g tidemarkv1.Message
			if err := proto.Unmarshal(entry, &g); err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(&g, generated(&c.Message)) {
				t.Errorf("generated code decodes %v, want %v", &g, generated(&c.Message))
			}
			theirs, err := proto.MarshalOptions{Deterministic: true}.Marshal(&g)
			if err != nil {
				t.Fatal(err)
			}
			if c.name != "at 1970" && !bytes.Equal(theirs, entry) { // 0 is written here, so that it is not no time
				t.Errorf("generated code encodes\n%x, we\n%x", theirs, entry)
			}
		})
	}
}

func TestAccessors(t *testing.T) {
	for i := range samples {
		c := &samples[i]
		t.Run(c.name, func(t *testing.T) {
			entry := c.AppendTo(nil)
			published, ok := message.PublishTime(entry)
			if ok == c.PublishTime.IsZero() || !published.Equal(c.PublishTime) {
				t.Errorf("PublishTime is %v, %v", published, ok)
			}
			key, ok := message.Key(entry)
			if ok != (len(c.Key) > 0) || !bytes.Equal(key, c.Key) {
				t.Errorf("Key is %q, %v", key, ok)
			}
			producer, sequence, ok := message.Origin(entry)
			if ok != (c.Producer != "") || string(producer) != c.Producer || ok && sequence != c.Sequence {
				t.Errorf("Origin is %q, %d, %v", producer, sequence, ok)
			}
		})
	}
}

func TestDecodeAliases(t *testing.T) {
	m := message.Message{Payload: []byte("payload"), Key: []byte("key")}
	entry := m.AppendTo(nil)
	got, err := message.Decode(entry)
	if err != nil {
		t.Fatal(err)
	}
	entry[2] = 'P'
	if string(got.Payload) != "Payload" {
		t.Error("the payload is a copy")
	}
	_ = append(got.Payload, "over the key"...)
	if string(got.Key) != "key" {
		t.Error("appending to the payload wrote over the key")
	}
}

func TestTextThatIsNone(t *testing.T) {
	m := message.Message{Producer: "a\xffb", Attributes: map[string]string{"n\xff": "v\xfe"}}
	entry := m.AppendTo(nil)
	if len(entry) != m.Size() {
		t.Errorf("%d bytes, Size says %d", len(entry), m.Size())
	}
	var g tidemarkv1.Message
	if err := proto.Unmarshal(entry, &g); err != nil {
		t.Fatal(err)
	}
	if g.Producer != "a\uFFFDb" || g.Attributes["n\uFFFD"] != "v\uFFFD" {
		t.Errorf("%v", &g)
	}
}

func TestDecodeForeignForms(t *testing.T) {
	field := func(b []byte, n protowire.Number, value string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), value)
	}
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 5)
	for _, c := range []struct {
		name  string
		entry []byte
		want  message.Message
	}{
		{"another order, the later one counts", field(field(field(nil, 2, "k"), 1, "old"), 1, "new"), message.Message{Key: []byte("k"), Payload: []byte("new")}},
		{"unknown fields", field(append(unknown, unknown...), 1, "p"), message.Message{Payload: []byte("p")}},
		{"known field of another type", protowire.AppendVarint(protowire.AppendTag(field(nil, 1, "p"), 1, protowire.VarintType), 7), message.Message{Payload: []byte("p")}},
		{"attribute without a value", field(nil, 6, string(field(nil, 1, "n"))), message.Message{Attributes: map[string]string{"n": ""}}},
		{"attribute of nothing", field(nil, 6, ""), message.Message{Attributes: map[string]string{"": ""}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := message.Decode(c.entry)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestDecodeMalformed(t *testing.T) {
	m := message.Message{Payload: []byte("hello"), PublishTime: at, Producer: "p", Sequence: 300, Attributes: many(1)}
	whole := m.AppendTo(nil)
	ends := map[int]bool{}
	for rest, n := whole, 0; len(rest) > 0; rest = rest[n:] {
		ends[len(whole)-len(rest)] = true
		_, _, n = protowire.ConsumeField(rest)
	}
	for n := range whole {
		if _, err := message.Decode(whole[:n]); (err == nil) != ends[n] {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	for name, entry := range map[string][]byte{
		"length beyond the end":  {0x0a, 0xff, 0xff, 0xff, 0xff, 0x07, 1},
		"length above all":       {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"field number 0":         {0x02, 0x00},
		"text that is none":      {0x22, 0x01, 0xff},
		"attribute that is none": {0x32, 0x02, 0x0a, 0x05},
		"attribute text":         {0x32, 0x03, 0x12, 0x01, 0xff},
		"end of no group":        {0x0c},
	} {
		if _, err := message.Decode(entry); !errors.Is(err, message.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAllocations(t *testing.T) {
	m := &samples[3].Message
	dst := make([]byte, 0, 2*m.Size()+10)
	entry := m.AppendTo(nil)
	for name, f := range map[string]func(){
		"Size":           func() { m.Size() },
		"AppendTo":       func() { m.AppendTo(dst) },
		"AppendPackedTo": func() { m.AppendPackedTo(dst) },
		"AppendPacked":   func() { message.AppendPacked(dst, entry) },
		"PublishTime":    func() { message.PublishTime(entry) },
		"Key":            func() { message.Key(entry) },
		"Origin":         func() { message.Origin(entry) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
