package entrycache

import (
	"slices"
	"sort"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

const (
	// sharedEntries and sharedBytes bound a run that small batches share. The
	// larger it is, the fewer steps does a read take; the smaller, the finer
	// does eviction work.
	sharedEntries = 64
	sharedBytes   = 64 << 10
)

// run is consecutive entries of one ledger that came at about the same time
// and go together.
type run struct {
	ledger *ledger
	first  sdk.EntryID
	// payloads only grows, and what it holds never changes, so parts of it are
	// handed out and read without the lock.
	payloads [][]byte
	// bytes is what the run counts for.
	bytes int64
	// born is when its first entry came, since the cache's epoch.
	born time.Duration
	// older and newer are its neighbours in the shard's queue.
	older, newer *run
}

// end is the entry behind the last.
func (r *run) end() sdk.EntryID { return r.first + sdk.EntryID(len(r.payloads)) }

// part returns the entries from..to, as far as the run has them.
func (r *run) part(from, to sdk.EntryID) [][]byte {
	i, j := int(max(from, r.first)-r.first), int(min(to+1, r.end())-r.first)
	return r.payloads[i:j:j]
}

// takes says whether a batch of small size that follows r may share it.
func (r *run) takes(entries int, bytes int64, now time.Duration, config *Config) bool {
	return len(r.payloads)+entries <= sharedEntries && r.bytes+bytes <= sharedBytes &&
		(config.TTL == 0 || now-r.born <= config.TTL/16)
}

// extend adds entries to the end of r.
func (r *run) extend(payloads [][]byte, bytes int64) {
	if cap(r.payloads)-len(r.payloads) < len(payloads) {
		r.payloads = append(make([][]byte, 0, sharedEntries), r.payloads...)
	}
	r.payloads = append(r.payloads, payloads...)
	r.bytes += bytes
}

// ledger is the runs of one ledger, rising and without overlap.
type ledger struct {
	id   sdk.LedgerID
	runs []*run
}

// find returns the index of the first run that ends behind entry, which may be
// len(l.runs), and whether entry lies in it.
func (l *ledger) find(entry sdk.EntryID) (int, bool) {
	// Most reads and nearly all adds are at the end.
	if n := len(l.runs); n > 0 && l.runs[n-1].first <= entry {
		if entry < l.runs[n-1].end() {
			return n - 1, true
		}
		return n, false
	}
	i := sort.Search(len(l.runs), func(i int) bool { return l.runs[i].end() > entry })
	return i, i < len(l.runs) && l.runs[i].first <= entry
}

// remove takes r out. The oldest run mostly is the first.
func (l *ledger) remove(r *run) {
	if l.runs[0] == r {
		l.runs[0] = nil
		l.runs = l.runs[1:]
		return
	}
	i, _ := l.find(r.first)
	l.runs = slices.Delete(l.runs, i, i+1)
}

// queue is runs in the order in which they were born.
type queue struct {
	head, tail *run
}

func (q *queue) push(r *run) {
	r.older = q.tail
	if q.tail == nil {
		q.head = r
	} else {
		q.tail.newer = r
	}
	q.tail = r
}

func (q *queue) remove(r *run) {
	if r.older == nil {
		q.head = r.newer
	} else {
		r.older.newer = r.newer
	}
	if r.newer == nil {
		q.tail = r.older
	} else {
		r.newer.older = r.older
	}
	r.older, r.newer = nil, nil
}
