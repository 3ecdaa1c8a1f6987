package pebble

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// Pebble's manifest and logs are files of blocks of chunks. A chunk is a
// checksum, a length, a type and the payload, in logs also the number of the
// log and, in the newest format, an offset; it never reaches into the next
// block. A record is one full chunk, or a first, some middle and a last one.
const (
	chunkBlock  = 32 << 10
	chunkHeader = 4 + 2 + 1
	sectorBytes = 512
)

// chunkHeaders are the sizes of the headers by (type-1)/4: the formats of
// manifests, of logs, and of logs with offsets.
var chunkHeaders = [...]int{chunkHeader, chunkHeader + 4, chunkHeader + 4 + 8}

// chunk is what stands at one place of a file.
type chunk struct {
	size    int    // with its header
	begins  bool   // it begins a record
	log     uint32 // the log it belongs to, 0 in a manifest
	payload []byte
}

// padding returns how many bytes are left in the block if no chunk can stand at
// the place, else 0.
func padding(content []byte, at int) int {
	left := chunkBlock - at%chunkBlock
	if left < chunkHeader || left < chunkHeaders[2] && isZero(content[at:min(at+left, len(content))]) {
		return left
	}
	return 0
}

// chunkAt returns the chunk at a place, and whether it is whole. Of one that is
// not whole only the size is of any use, and that may be wrong.
func chunkAt(content []byte, at int) (c chunk, whole bool) {
	room := min(chunkBlock-at%chunkBlock, len(content)-at)
	if room < chunkHeader {
		return c, false
	}
	kind := int(content[at+6]) - 1
	if kind < 0 || kind/4 >= len(chunkHeaders) {
		return c, false
	}
	header := chunkHeaders[kind/4]
	c.size = header + int(binary.LittleEndian.Uint16(content[at+4:]))
	if c.size > room {
		return c, false
	}
	if header > chunkHeader {
		c.log = binary.LittleEndian.Uint32(content[at+chunkHeader:])
	}
	c.begins = kind%4 < 2
	c.payload = content[at+header : at+c.size]
	sum := crc32.Checksum(content[at+6:at+c.size], castagnoli)
	return c, bits.RotateLeft32(sum, -15)+0xa282ead8 == binary.LittleEndian.Uint32(content[at:])
}

// manifestDamage returns where a record of a manifest is damaged. Each record
// was synced before the next one was written, so what is bad and followed by
// something good was good once. The last one may have been cut off; then the
// file ends in it, or it is zero from the end of a sector on.
func manifestDamage(content []byte) (at int, damaged bool) {
	for at < len(content) {
		if skip := padding(content, at); skip > 0 {
			at += skip
			continue
		}
		c, whole := chunkAt(content, at)
		if !whole {
			good := func(chunk) bool { return true }
			return at, anyChunk(content, at+1, good) || !cutOff(content, at, c.size)
		}
		at += c.size
	}
	return at, false
}

// cutOff reports whether the last chunk of a manifest looks like one whose
// write was cut off.
func cutOff(content []byte, at, size int) bool {
	left := chunkBlock - at%chunkBlock
	if len(content)-at < chunkHeader || size <= left && at+size > len(content) {
		return true
	}
	end := len(content)
	if size > 0 && size <= left {
		end = at + size
	}
	for from := at; from < end; from = (from/sectorBytes + 1) * sectorBytes {
		if isZero(content[from:end]) {
			return true
		}
	}
	return false
}

func isZero(content []byte) bool {
	for _, b := range content {
		if b != 0 {
			return false
		}
	}
	return true
}

// logDamage returns where the log with that number is damaged. The committer
// begins a record only after the one before it was synced. So where a record
// begins behind something bad, that was good once. What is bad and followed by
// no beginning is the record that was being written. Records that were
// acknowledged before their sync prove nothing.
func logDamage(content []byte, log uint32) (at int, damaged bool) {
	for at < len(content) {
		if skip := padding(content, at); skip > 0 {
			at += skip
			continue
		}
		if isLogEnd(content[at:], log) {
			return at, false
		}
		c, whole := chunkAt(content, at)
		if !whole || c.log != log {
			proves := func(c chunk) bool { return c.begins && c.log == log && !isLazy(c.payload) }
			return at, anyChunk(content, at+1, proves)
		}
		at += c.size
	}
	return at, false
}

// isLogEnd reports whether the mark of a log that was closed stands here: an
// empty chunk of the next log.
func isLogEnd(content []byte, log uint32) bool {
	if len(content) < chunkHeaders[1] {
		return false
	}
	return isZero(content[:6]) && content[6] == 5 && binary.LittleEndian.Uint32(content[chunkHeader:]) == log+1
}

// anyChunk reports whether a whole chunk that is wanted stands anywhere from
// the place on. The rest of its block is searched byte by byte; in the blocks
// behind it chunks stand where they must.
func anyChunk(content []byte, from int, wanted func(chunk) bool) bool {
	at := from
	for ; at < len(content) && at%chunkBlock != 0; at++ {
		if c, whole := chunkAt(content, at); whole && wanted(c) {
			return true
		}
	}
	for ; at < len(content); at += chunkBlock {
		for next := at; next < min(at+chunkBlock, len(content)); {
			c, whole := chunkAt(content, next)
			if !whole {
				break
			}
			if wanted(c) {
				return true
			}
			next += c.size
		}
	}
	return false
}

// lazyMark begins each batch that is acknowledged before its sync. Pebble
// writes it to the log and nowhere else.
const lazyMark = "acknowledged before sync"

// batchHeader and logDataKind are what stands before the mark in a batch: its
// number and count, and the kind of its first record.
const (
	batchHeader = 8 + 4
	logDataKind = 3
)

func isLazy(batch []byte) bool {
	mark := append([]byte{logDataKind, byte(len(lazyMark))}, lazyMark...)
	return len(batch) >= batchHeader && bytes.HasPrefix(batch[batchHeader:], mark)
}
