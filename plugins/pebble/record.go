package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"github.com/tidemark-engine/tidemark/sdk"
)

// A ledger's record is
//
//	checksum  4  CRC-32C of the key and all that follows
//	version   1
//	closed    1  0 or 1
//	last      8  the last entry of a closed ledger, else -1
//	bytes     8  payload bytes of a closed ledger, else 0
//	labels       a varint count, then keys and values with varint lengths
const (
	recordVersion     = 1
	recordHeaderBytes = 4 + 1 + 1 + 8 + 8
)

var errRecord = errors.New("damaged record")

// record is what is stored about a ledger. A ledger that is not closed has no
// state here: its blocks tell where it ends.
type record struct {
	closed bool
	last   sdk.EntryID
	bytes  int64
	labels map[string]string
}

func (r record) encode(key []byte) []byte {
	value := make([]byte, recordHeaderBytes, recordHeaderBytes+16)
	value[4] = recordVersion
	if r.closed {
		value[5] = 1
	}
	binary.LittleEndian.PutUint64(value[6:], uint64(r.last))
	binary.LittleEndian.PutUint64(value[14:], uint64(r.bytes))
	value = binary.AppendUvarint(value, uint64(len(r.labels)))
	for _, name := range slices.Sorted(maps.Keys(r.labels)) {
		value = appendText(appendText(value, name), r.labels[name])
	}
	binary.LittleEndian.PutUint32(value, recordChecksum(key, value))
	return value
}

func recordChecksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value[4:])
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

func parseRecord(key, value []byte) (record, error) {
	if len(value) < recordHeaderBytes {
		return record{}, fmt.Errorf("%w: %d bytes are too few", errRecord, len(value))
	}
	if recordChecksum(key, value) != binary.LittleEndian.Uint32(value) {
		return record{}, fmt.Errorf("%w: wrong checksum", errRecord)
	}
	if value[4] != recordVersion {
		return record{}, fmt.Errorf("%w: unknown version %d", errRecord, value[4])
	}
	r := record{
		closed: value[5] == 1,
		last:   sdk.EntryID(binary.LittleEndian.Uint64(value[6:])),
		bytes:  int64(binary.LittleEndian.Uint64(value[14:])),
	}
	var err error
	if r.labels, err = parseLabels(value[recordHeaderBytes:]); err != nil {
		return record{}, err
	}
	if r.last < sdk.NoEntry || r.bytes < 0 {
		return record{}, fmt.Errorf("%w: last entry %d, %d bytes", errRecord, r.last, r.bytes)
	}
	return r, nil
}

func parseLabels(rest []byte) (map[string]string, error) {
	count, n := binary.Uvarint(rest)
	if n <= 0 || count > sdk.MaxLabels {
		return nil, fmt.Errorf("%w: bad number of labels", errRecord)
	}
	rest = rest[n:]
	var labels map[string]string
	for range count {
		var name, text string
		var ok bool
		if name, rest, ok = cutText(rest); !ok {
			return nil, fmt.Errorf("%w: bad label", errRecord)
		}
		if text, rest, ok = cutText(rest); !ok {
			return nil, fmt.Errorf("%w: bad label", errRecord)
		}
		if labels == nil {
			labels = make(map[string]string, count)
		}
		labels[name] = text
	}
	if len(rest) != 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", errRecord, len(rest))
	}
	return labels, nil
}

func cutText(from []byte) (text string, rest []byte, ok bool) {
	size, n := binary.Uvarint(from)
	if n <= 0 || size > uint64(len(from)-n) {
		return "", nil, false
	}
	return string(from[n : n+int(size)]), from[n+int(size):], true
}
