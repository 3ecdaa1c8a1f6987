package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/tidemark-engine/tidemark/sdk"
)

// A block is
//
//	checksum  4  CRC-32C of the key and all that follows
//	version   1
//	count     4  number of entries
//	total     8  payload bytes of the ledger up to the end of this block
//	lengths      count unsigned varints
//	payloads     one after the other
//
// with fixed numbers in little endian.
const (
	blockVersion     = 1
	blockHeaderBytes = 4 + 1 + 4 + 8
	// maxBlockBytes cuts a run of entries; a block of one entry may be larger.
	maxBlockBytes = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errBlock = errors.New("damaged block")

// cutBlock returns how many of the entries make one block, at least one, and
// the sizes of their payloads and of the encoded block.
func cutBlock(entries [][]byte) (count, payloadBytes, blockBytes int) {
	for _, entry := range entries {
		if count > 0 && payloadBytes+len(entry) > maxBlockBytes {
			break
		}
		count++
		payloadBytes += len(entry)
		blockBytes += uvarintBytes(uint64(len(entry)))
	}
	return count, payloadBytes, blockHeaderBytes + blockBytes + payloadBytes
}

func uvarintBytes(n uint64) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

// putBlock encodes entries into block, whose length is what cutBlock said.
func putBlock(block, key []byte, entries [][]byte, total int64) {
	block[4] = blockVersion
	binary.LittleEndian.PutUint32(block[5:], uint32(len(entries)))
	binary.LittleEndian.PutUint64(block[9:], uint64(total))
	at := blockHeaderBytes
	for _, entry := range entries {
		at += binary.PutUvarint(block[at:], uint64(len(entry)))
	}
	for _, entry := range entries {
		at += copy(block[at:], entry)
	}
	binary.LittleEndian.PutUint32(block, blockChecksum(key, block))
}

func blockChecksum(key, block []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, block[4:])
}

// block is a checked block. Its bytes belong to whoever read it.
type block struct {
	first, last sdk.EntryID
	total       int64
	lengths     []byte
	payloads    []byte
}

// parseBlock checks the whole block and returns what it holds. It keeps value.
func parseBlock(key, value []byte) (block, error) {
	if len(key) != blockKeyBytes || len(value) < blockHeaderBytes {
		return block{}, fmt.Errorf("%w: %d bytes are too few", errBlock, len(value))
	}
	if blockChecksum(key, value) != binary.LittleEndian.Uint32(value) {
		return block{}, fmt.Errorf("%w: wrong checksum", errBlock)
	}
	if value[4] != blockVersion {
		return block{}, fmt.Errorf("%w: unknown version %d", errBlock, value[4])
	}
	count := int64(binary.LittleEndian.Uint32(value[5:]))
	b := block{
		last:    lastOfBlock(key),
		total:   int64(binary.LittleEndian.Uint64(value[9:])),
		lengths: value[blockHeaderBytes:],
	}
	b.first = b.last - sdk.EntryID(count) + 1
	if count == 0 || b.first < 0 || b.total < 0 {
		return block{}, fmt.Errorf("%w: %d entries up to %d, %d bytes in all", errBlock, count, b.last, b.total)
	}
	return b.split(count)
}

// split finds where the payloads begin.
func (b block) split(count int64) (block, error) {
	at, sum := 0, uint64(0)
	for range count {
		size, n := binary.Uvarint(b.lengths[at:])
		if n <= 0 || size > uint64(len(b.lengths)) {
			return block{}, fmt.Errorf("%w: bad length", errBlock)
		}
		at += n
		sum += size
	}
	if sum != uint64(len(b.lengths)-at) {
		return block{}, fmt.Errorf("%w: %d bytes of payload, not %d", errBlock, len(b.lengths)-at, sum)
	}
	b.payloads, b.lengths = b.lengths[at:], b.lengths[:at]
	return b, nil
}

// cut is what part of a block a read takes.
type cut struct {
	payloads [][]byte
	bytes    int  // sum of the payload sizes
	full     bool // the limit was reached
}

// collect copies the payloads from first to last, both in this block, until
// the next one would exceed limit bytes; with atLeastOne the first one is taken
// in any case.
func (b block) collect(first, last sdk.EntryID, limit int, atLeastOne bool) cut {
	begin, lengths := b.skip(int(first - b.first))
	end, rest, count, full := begin, lengths, 0, false
	for range int(last - first + 1) {
		size, n := binary.Uvarint(rest)
		if end-begin+int(size) > limit && !(atLeastOne && count == 0) {
			full = true
			break
		}
		rest, end, count = rest[n:], end+int(size), count+1
	}
	own := append(make([]byte, 0, end-begin), b.payloads[begin:end]...)
	return cut{payloads: divide(own, lengths, count), bytes: len(own), full: full}
}

// skip returns where the payload and the length number n begin.
func (b block) skip(n int) (offset int, lengths []byte) {
	lengths = b.lengths
	for range n {
		size, k := binary.Uvarint(lengths)
		lengths, offset = lengths[k:], offset+int(size)
	}
	return offset, lengths
}

// divide returns count payloads that lie one after the other in bytes.
func divide(bytes, lengths []byte, count int) [][]byte {
	payloads := make([][]byte, count)
	for i := range payloads {
		size, n := binary.Uvarint(lengths)
		payloads[i], bytes, lengths = bytes[:size:size], bytes[size:], lengths[n:]
	}
	return payloads
}
