package message

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrMalformed says that bytes are not an encoded message, or not a packed
// batch. Entries need not be messages; that is for whoever appends them to say.
var ErrMalformed = errors.New("not a message")

// Decode decodes an entry. Payload and Key are parts of entry, not copies.
// Fields that it does not know are left out. [ErrMalformed].
func Decode(entry []byte) (Message, error) {
	var m Message
	var s scanner
	for s.rest = entry; s.next(); {
		switch s.field {
		case fieldPayload:
			m.Payload = s.bytes
		case fieldKey:
			m.Key = s.bytes
		case fieldPublishTime:
			m.PublishTime = time.Unix(0, int64(s.number))
		case fieldProducer:
			m.Producer = string(s.bytes)
		case fieldSequence:
			m.Sequence = s.number
		case fieldAttributes:
			if m.Attributes == nil {
				m.Attributes = map[string]string{}
			}
			name, value, ok := attribute(s.bytes)
			if !ok {
				return Message{}, malformed(entry, len(entry)-len(s.rest))
			}
			m.Attributes[string(name)] = string(value)
		}
	}
	if s.failed {
		return Message{}, malformed(entry, len(entry)-len(s.rest))
	}
	return m, nil
}

func malformed(entry []byte, at int) error {
	return fmt.Errorf("entry of %d bytes is no tidemark.v1.Message from byte %d on: %w", len(entry), at, ErrMalformed)
}

// PublishTime returns the publish time of an entry; false if it has none or is
// no message. It looks at the fields only as far as it must, and allocates
// nothing.
func PublishTime(entry []byte) (time.Time, bool) {
	var nanoseconds int64
	var found bool
	var s scanner
	for s.rest = entry; s.next(); {
		if s.field == fieldPublishTime {
			nanoseconds, found = int64(s.number), true
		}
	}
	if !found || s.failed {
		return time.Time{}, false
	}
	return time.Unix(0, nanoseconds), true
}

// Key returns the key of an entry, a part of it; false if it has none or is no
// message. It is as cheap as [PublishTime].
func Key(entry []byte) ([]byte, bool) {
	var key []byte
	var s scanner
	for s.rest = entry; s.next(); {
		if s.field == fieldKey {
			key = s.bytes
		}
	}
	return key, len(key) > 0 && !s.failed
}

// Origin returns the name of the producer, a part of the entry, and the
// sequence that it gave; false if no producer is named or the entry is no
// message. It is as cheap as [PublishTime].
func Origin(entry []byte) (producer []byte, sequence uint64, ok bool) {
	var s scanner
	for s.rest = entry; s.next(); {
		switch s.field {
		case fieldProducer:
			producer = s.bytes
		case fieldSequence:
			sequence = s.number
		}
	}
	if len(producer) == 0 || s.failed {
		return nil, 0, false
	}
	return producer, sequence, true
}

// scanner goes through the fields of a message. After each next, field is one
// that the message knows, with its value in bytes or number.
type scanner struct {
	rest   []byte
	field  protowire.Number
	bytes  []byte
	number uint64
	// failed says that the scan ended before the end, at rest.
	failed bool
}

// next moves to the next known field; false at the end.
func (s *scanner) next() bool {
	for len(s.rest) > 0 {
		field, kind, n := protowire.ConsumeTag(s.rest)
		if n < 0 || field > protowire.MaxValidNumber {
			break
		}
		size, known := s.value(field, kind, s.rest[n:])
		if size < 0 {
			break
		}
		s.rest = s.rest[n+size:]
		if known {
			s.field = field
			return true
		}
	}
	s.failed = len(s.rest) > 0
	return false
}

// value reads the value of a field from b and returns its size, below 0 if it
// is malformed, and whether the field is known. A field with another type than
// its own is unknown, as in generated code.
func (s *scanner) value(field protowire.Number, kind protowire.Type, b []byte) (size int, known bool) {
	switch {
	case kind == protowire.BytesType:
		s.bytes, size = protowire.ConsumeBytes(b)
		switch field {
		case fieldPayload, fieldKey, fieldAttributes:
			return size, true
		case fieldProducer:
			if !utf8.Valid(s.bytes) {
				return -1, false
			}
			return size, true
		}
		return size, false
	case kind == protowire.Fixed64Type && field == fieldPublishTime:
		s.number, size = protowire.ConsumeFixed64(b)
		return size, true
	case kind == protowire.VarintType && field == fieldSequence:
		s.number, size = protowire.ConsumeVarint(b)
		return size, true
	}
	return protowire.ConsumeFieldValue(field, kind, b), false
}

// attribute reads one attribute. Either half may be missing, then it is empty.
func attribute(b []byte) (name, value []byte, ok bool) {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 || field > protowire.MaxValidNumber {
			return nil, nil, false
		}
		b = b[n:]
		size := protowire.ConsumeFieldValue(field, kind, b)
		if size < 0 {
			return nil, nil, false
		}
		if kind == protowire.BytesType && (field == fieldName || field == fieldValue) {
			half, _ := protowire.ConsumeBytes(b)
			if !utf8.Valid(half) {
				return nil, nil, false
			}
			if field == fieldName {
				name = half
			} else {
				value = half
			}
		}
		b = b[size:]
	}
	return name, value, true
}
