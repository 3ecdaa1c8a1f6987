package message

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of tidemark.v1.Message. Their numbers are below 16, so each tag is
// one byte.
const (
	fieldPayload     = 1
	fieldKey         = 2
	fieldPublishTime = 3
	fieldProducer    = 4
	fieldSequence    = 5
	fieldAttributes  = 6

	// Those of an entry of the map of attributes.
	fieldName  = 1
	fieldValue = 2
)

const (
	tagBytes = 1
	timeSize = 1 + 8
)

// Size returns the number of bytes of the encoded message.
func (m *Message) Size() int {
	n := bytesSize(len(m.Payload)) + bytesSize(len(m.Key)) + bytesSize(len(text(m.Producer)))
	if !m.PublishTime.IsZero() {
		n += timeSize
	}
	if m.Sequence != 0 {
		n += tagBytes + protowire.SizeVarint(m.Sequence)
	}
	for name, value := range m.Attributes {
		n += tagBytes + protowire.SizeBytes(attributeSize(text(name), text(value)))
	}
	return n
}

// bytesSize is the size of a field of n bytes, which is left out if n is 0.
func bytesSize(n int) int {
	if n == 0 {
		return 0
	}
	return tagBytes + protowire.SizeBytes(n)
}

// attributeSize is the size of one attribute without its tag and length. Name
// and value are always written, as generated code does.
func attributeSize(name, value string) int {
	return 2*tagBytes + protowire.SizeBytes(len(name)) + protowire.SizeBytes(len(value))
}

// text returns s as the encoding may hold it.
func text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// AppendTo appends the encoded message to dst and returns it. Equal messages
// have equal encodings. If dst has room for [Message.Size] bytes and there are
// at most 16 attributes it does not allocate.
func (m *Message) AppendTo(dst []byte) []byte {
	dst = appendBytes(dst, fieldPayload, m.Payload)
	dst = appendBytes(dst, fieldKey, m.Key)
	if !m.PublishTime.IsZero() {
		dst = appendTime(dst, m.PublishTime)
	}
	if m.Producer != "" {
		dst = appendText(dst, fieldProducer, text(m.Producer))
	}
	if m.Sequence != 0 {
		dst = appendSequence(dst, m.Sequence)
	}
	if len(m.Attributes) > 0 {
		dst = m.appendAttributes(dst)
	}
	return dst
}

// appendAttributes appends the attributes in the order of their names.
func (m *Message) appendAttributes(dst []byte) []byte {
	var room [16]string
	names := room[:0]
	for name := range m.Attributes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := text(m.Attributes[name])
		name = text(name)
		dst = protowire.AppendTag(dst, fieldAttributes, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(attributeSize(name, value)))
		dst = appendText(dst, fieldName, name)
		dst = appendText(dst, fieldValue, value)
	}
	return dst
}

func appendBytes(dst []byte, field protowire.Number, value []byte) []byte {
	if len(value) == 0 {
		return dst
	}
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), value)
}

func appendText(dst []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, field, protowire.BytesType), value)
}

func appendTime(dst []byte, at time.Time) []byte {
	dst = protowire.AppendTag(dst, fieldPublishTime, protowire.Fixed64Type)
	return protowire.AppendFixed64(dst, uint64(at.UnixNano()))
}

func appendSequence(dst []byte, sequence uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, fieldSequence, protowire.VarintType), sequence)
}
