package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tidemark-engine/tidemark/sdk"
)

// framings are the ways in which entries stand in a byte stream:
//
//	line    each entry ends with a newline, which is not part of it; the last
//	        one may lack it. Other bytes are kept as they are.
//	length  before each entry its length, four bytes, the highest first
func framings() []string { return []string{"line", "length"} }

// frameReader yields the entries of a byte stream.
type frameReader interface {
	// next returns the next entry, which is valid until the next call, or
	// io.EOF at the end. An entry above the limit is sdk.ErrTooLarge; a length
	// that the stream ends inside of is io.ErrUnexpectedEOF.
	next() ([]byte, error)
}

const readBuffer = 256 << 10

// newFrameReader reads entries of at most limit bytes.
func newFrameReader(framing string, in io.Reader, limit int) (frameReader, error) {
	buffered := bufio.NewReaderSize(in, readBuffer)
	switch framing {
	case "line":
		return &lineReader{in: buffered, limit: limit}, nil
	case "length":
		return &lengthReader{in: buffered, limit: limit}, nil
	}
	return nil, unknownFraming(framing)
}

func unknownFraming(framing string) error {
	return usageError{fmt.Errorf("--framing %q is neither line nor length", framing)}
}

type lineReader struct {
	in    *bufio.Reader
	limit int
	long  []byte // a line that is longer than the buffer of in
	lines int
}

func (r *lineReader) next() ([]byte, error) {
	r.long = r.long[:0]
	r.lines++
	for {
		part, err := r.in.ReadSlice('\n')
		ended := err == nil
		if ended {
			part = part[:len(part)-1]
		}
		if len(r.long)+len(part) > r.limit {
			return nil, fmt.Errorf("line %d is larger than %d bytes, the largest entry that the topic takes: %w", r.lines, r.limit, sdk.ErrTooLarge)
		}
		switch {
		case ended && len(r.long) == 0:
			return part, nil
		case ended:
			return append(r.long, part...), nil
		case errors.Is(err, bufio.ErrBufferFull):
			r.long = append(r.long, part...)
		case err == io.EOF && len(r.long)+len(part) > 0:
			r.long = append(r.long, part...)
			return r.long, nil
		default:
			return nil, err
		}
	}
}

type lengthReader struct {
	in      *bufio.Reader
	limit   int
	buffer  []byte
	entries int
}

func (r *lengthReader) next() ([]byte, error) {
	r.entries++
	var head [4]byte
	if _, err := io.ReadFull(r.in, head[:]); err == io.EOF {
		return nil, io.EOF
	} else if err != nil {
		return nil, fmt.Errorf("length of entry %d: %w", r.entries, err)
	}
	length := binary.BigEndian.Uint32(head[:])
	if int64(length) > int64(r.limit) {
		return nil, fmt.Errorf("entry %d has %d bytes, more than %d, the largest entry that the topic takes: %w", r.entries, length, r.limit, sdk.ErrTooLarge)
	}
	if cap(r.buffer) < int(length) {
		r.buffer = make([]byte, length)
	}
	r.buffer = r.buffer[:length]
	if _, err := io.ReadFull(r.in, r.buffer); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("entry %d: %w", r.entries, err)
	}
	return r.buffer, nil
}

// frameWriter writes entries to a byte stream in one of the framings.
type frameWriter func(out *bufio.Writer, payload []byte) error

func newFrameWriter(framing string) (frameWriter, error) {
	switch framing {
	case "line":
		return writeLine, nil
	case "length":
		return writeLength, nil
	}
	return nil, unknownFraming(framing)
}

func writeLine(out *bufio.Writer, payload []byte) error {
	out.Write(payload) // an error stays in out and shows in the next call
	return out.WriteByte('\n')
}

func writeLength(out *bufio.Writer, payload []byte) error {
	if len(payload) > math.MaxUint32 {
		return fmt.Errorf("an entry of %d bytes cannot be framed by length: %w", len(payload), sdk.ErrTooLarge)
	}
	var head [4]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(payload)))
	out.Write(head[:])
	_, err := out.Write(payload)
	return err
}
