package message

import (
	"fmt"
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// PackedSize returns the number of bytes that the entries take when packed.
func PackedSize(entries ...[]byte) int {
	n := 0
	for _, entry := range entries {
		n += protowire.SizeBytes(len(entry))
	}
	return n
}

// AppendPacked appends the entries to dst, each with its length before it, and
// returns it.
func AppendPacked(dst []byte, entries ...[]byte) []byte {
	for _, entry := range entries {
		dst = protowire.AppendBytes(dst, entry)
	}
	return dst
}

// AppendPackedTo appends the encoded message to dst with its length before it,
// and returns it.
func (m *Message) AppendPackedTo(dst []byte) []byte {
	return m.AppendTo(protowire.AppendVarint(dst, uint64(m.Size())))
}

// Unpack yields the entries of a packed batch, as parts of packed. If a length
// goes beyond the end, it yields the entries before that one, then once
// [ErrMalformed], and ends. It does not look into the entries.
func Unpack(packed []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for at := 0; at < len(packed); {
			entry, n := protowire.ConsumeBytes(packed[at:])
			if n < 0 {
				yield(nil, badLength(packed, at))
				return
			}
			if !yield(entry[:len(entry):len(entry)], nil) {
				return
			}
			at += n
		}
	}
}

func badLength(packed []byte, at int) error {
	return fmt.Errorf("packed batch of %d bytes: the length at byte %d is none, or goes beyond the end: %w", len(packed), at, ErrMalformed)
}
