package entrycache

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

// shard is the part of a cache that serves some ledgers.
type shard struct {
	cache *Cache
	// oldest is when the head of the queue was born, MaxInt64 if the shard is
	// empty; written under mu.
	oldest atomic.Int64

	// mu guards what follows. It is held for some map and slice steps, never
	// while calling anybody.
	mu      sync.Mutex
	ledgers map[sdk.LedgerID]*ledger
	queue   queue
	// flights are the storage reads that may be shared.
	flights map[sdk.LedgerID][]*flight
	entries int64

	hits, misses, evicted, refused, merged int64

	_ [64]byte // shards are used side by side; keep their locks on lines of their own
}

// add keeps entries and returns the bytes that they count for.
func (s *shard) add(id sdk.LedgerID, first sdk.EntryID, payloads [][]byte, now time.Duration, config *Config) int64 {
	l := s.ledgers[id]
	if l == nil {
		l = &ledger{id: id}
	}
	var added int64
	for len(payloads) > 0 {
		i, there := l.find(first)
		n := len(payloads)
		if there {
			n = int(min(sdk.EntryID(n), l.runs[i].end()-first))
			s.refused += int64(n)
		} else {
			if i < len(l.runs) {
				n = int(min(sdk.EntryID(n), l.runs[i].first-first))
			}
			added += s.place(l, i, first, payloads[:n], now, config)
		}
		first += sdk.EntryID(n)
		payloads = payloads[n:]
	}
	if len(l.runs) > 0 {
		s.ledgers[id] = l
	}
	s.cache.bytes.Add(added)
	return added
}

// place puts entries of which none is there before the run at index i.
func (s *shard) place(l *ledger, i int, first sdk.EntryID, payloads [][]byte, now time.Duration, config *Config) int64 {
	bytes := int64(len(payloads)) * EntryOverhead
	for _, p := range payloads {
		bytes += int64(len(p))
	}
	if bytes > config.MaxBytes {
		return 0
	}
	s.entries += int64(len(payloads))
	if i > 0 && l.runs[i-1].end() == first && l.runs[i-1].takes(len(payloads), bytes, now, config) {
		l.runs[i-1].extend(payloads, bytes)
		return bytes
	}
	r := &run{ledger: l, first: first, payloads: slices.Clone(payloads), bytes: bytes, born: now}
	l.runs = slices.Insert(l.runs, i, r)
	s.queue.push(r)
	s.noteOldest()
	return bytes
}

// collect appends the parts of runs that make up the longest run of entries
// from first, and stops early when they are enough for maxBytes.
func (s *shard) collect(pieces [][][]byte, id sdk.LedgerID, first, last sdk.EntryID, maxBytes int) [][][]byte {
	l := s.ledgers[id]
	if l == nil || first > last {
		return pieces
	}
	i, there := l.find(first)
	var bytes int64
	for there && first <= last && (maxBytes == 0 || bytes <= int64(maxBytes)) {
		r := l.runs[i]
		if first == r.first { // only what is certain: the first run may be cut
			bytes += r.bytes - int64(len(r.payloads))*EntryOverhead
		}
		pieces = append(pieces, r.part(first, last))
		first = r.end()
		i++
		there = i < len(l.runs) && l.runs[i].first == first
	}
	return pieces
}

// join makes one slice of pieces, cut where it would exceed maxBytes.
func join(pieces [][][]byte, maxBytes int) [][]byte {
	if len(pieces) == 0 {
		return nil
	}
	if len(pieces) == 1 {
		return cut(pieces[0], maxBytes)
	}
	n := 0
	for _, p := range pieces {
		n += len(p)
	}
	whole := make([][]byte, 0, n)
	for _, p := range pieces {
		whole = append(whole, p...)
	}
	return cut(whole, maxBytes)
}

// cut returns the longest start of payloads that has at most maxBytes (0: all),
// and at least one entry.
func cut(payloads [][]byte, maxBytes int) [][]byte {
	if maxBytes == 0 {
		return payloads
	}
	for i, p := range payloads {
		if maxBytes -= len(p); maxBytes < 0 && i > 0 {
			return payloads[:i:i]
		}
	}
	return payloads
}

// nextCached returns the first entry in first..last that is in the cache, else
// last+1.
func (s *shard) nextCached(id sdk.LedgerID, first, last sdk.EntryID) sdk.EntryID {
	if l := s.ledgers[id]; l != nil {
		if i, there := l.find(first); there {
			return first
		} else if i < len(l.runs) {
			return min(l.runs[i].first, last+1)
		}
	}
	return last + 1
}

// drop forgets r.
func (s *shard) drop(r *run) {
	s.queue.remove(r)
	r.ledger.remove(r)
	if len(r.ledger.runs) == 0 {
		delete(s.ledgers, r.ledger.id)
	}
	s.entries -= int64(len(r.payloads))
	s.cache.bytes.Add(-r.bytes)
	s.noteOldest()
}

func (s *shard) noteOldest() {
	if s.queue.head == nil {
		s.oldest.Store(math.MaxInt64)
	} else {
		s.oldest.Store(int64(s.queue.head.born))
	}
}
