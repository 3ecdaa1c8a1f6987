package pebble

import (
	"encoding/binary"

	"github.com/tidemark-engine/tidemark/sdk"
)

// The first byte of a key says what it is for.
const (
	counterKind  = 'c' // the next ledger id, the last metadata version
	ledgerKind   = 'l' // ledger id → record
	blockKind    = 'e' // ledger id, last entry id → block
	metadataKind = 'm' // metadata key → version, value
)

const (
	ledgerKeyBytes = 1 + 8
	blockKeyBytes  = 1 + 8 + 8
)

var (
	nextLedgerKey      = []byte{counterKind, 'l'}
	metadataVersionKey = []byte{counterKind, 'm'}
)

// ledgerKey returns the key of a ledger's record.
func ledgerKey(id sdk.LedgerID) []byte {
	return binary.BigEndian.AppendUint64([]byte{ledgerKind}, uint64(id))
}

// appendBlockKey appends the key of the block that ends with last.
func appendBlockKey(to []byte, id sdk.LedgerID, last sdk.EntryID) []byte {
	to = binary.BigEndian.AppendUint64(append(to, blockKind), uint64(id))
	return binary.BigEndian.AppendUint64(to, uint64(last))
}

func blockKey(id sdk.LedgerID, last sdk.EntryID) []byte {
	return appendBlockKey(make([]byte, 0, blockKeyBytes), id, last)
}

// blocksOf returns the bounds of all blocks of a ledger.
func blocksOf(id sdk.LedgerID) (from, below []byte) {
	return blockKey(id, 0), blockKey(id+1, 0)
}

// lastOfBlock returns the entry id in a block key.
func lastOfBlock(key []byte) sdk.EntryID {
	return sdk.EntryID(binary.BigEndian.Uint64(key[1+8:]))
}

func metadataKey(key string) []byte { return append([]byte{metadataKind}, key...) }

// upperBound returns the smallest key that is greater than all that begin with
// prefix. The prefix begins with a kind, so there is one.
func upperBound(prefix []byte) []byte {
	end := append([]byte{}, prefix...)
	for i := len(end) - 1; ; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
}
