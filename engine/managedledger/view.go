package managedledger

import (
	"sort"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

// view is an immutable snapshot of a managed ledger: which ledgers it has and
// how far they may be read. The lane makes a new one with every change and
// publishes it; everybody else only loads it. Nothing beyond its lac is
// visible to anybody.
type view struct {
	state State
	// ledgers are in order; the last one may be open (closedAt is zero).
	ledgers []ledgerSpan
	// lac is the last confirmed entry of the whole log. When the open ledger
	// is empty it lies in an earlier ledger, which may have been trimmed since;
	// in a log that never had an entry its entry is NoEntry. It never goes
	// back.
	lac sdk.Position
	// openBytes is the sum of the confirmed payloads of the open ledger.
	openBytes int64
	// trimmed is the last entry that was removed from the log's start;
	// notTrimmed if there was none.
	trimmed sdk.Position
}

// notTrimmed is before every entry.
var notTrimmed = sdk.Position{Entry: sdk.NoEntry}

// ledgerSpan is one ledger of the log.
type ledgerSpan struct {
	id sdk.LedgerID
	// entries and bytes are those of a closed ledger; the open one's number of
	// entries follows from the view's lac, see view.entries.
	entries  int64
	bytes    int64
	closedAt time.Time
	// before is the number of entries in the ledgers of this list before this
	// one, so that counting needs two look-ups and no walk.
	before int64
}

func (s *ledgerSpan) open() bool { return s.closedAt.IsZero() }

// newSpans sets the before fields of ledgers, in place, and returns it.
func newSpans(ledgers []ledgerSpan) []ledgerSpan {
	var before int64
	for i := range ledgers {
		ledgers[i].before = before
		before += ledgers[i].entries
	}
	return ledgers
}

// find returns the index of the first ledger with an id of at least id, which
// may be len(v.ledgers), and whether it is that ledger.
func (v *view) find(id sdk.LedgerID) (index int, found bool) {
	index = sort.Search(len(v.ledgers), func(i int) bool { return v.ledgers[i].id >= id })
	return index, index < len(v.ledgers) && v.ledgers[index].id == id
}

// bytes returns the size of the readable entries of the i-th ledger.
func (v *view) bytes(i int) int64 {
	if s := &v.ledgers[i]; !s.open() {
		return s.bytes
	}
	return v.openBytes
}

// openLedger returns the ledger that is written to, if there is one.
func (v *view) openLedger() (id sdk.LedgerID, ok bool) {
	if n := len(v.ledgers); n > 0 && v.ledgers[n-1].open() {
		return v.ledgers[n-1].id, true
	}
	return 0, false
}

// entries returns the number of readable entries of the i-th ledger.
func (v *view) entries(i int) int64 {
	if s := &v.ledgers[i]; !s.open() {
		return s.entries
	} else if s.id == v.lac.Ledger {
		return int64(v.lac.Entry) + 1
	}
	return 0
}

// readable says whether there is an entry to read at p or beyond.
func (v *view) readable(p sdk.Position) bool {
	return v.lac.Entry != sdk.NoEntry && !p.After(v.lac) && v.count(v.lac) > 0
}

// start returns where a read that wants p begins: p itself if an entry is or
// will be there, else the first place behind p where one is or will be. If
// there is none (p lies beyond the log), p is returned as it is. gone says
// that the entry at p was removed by trimming.
func (v *view) start(p sdk.Position) (at sdk.Position, gone bool) {
	gone = !p.After(v.trimmed)
	i, found := v.find(p.Ledger)
	if found {
		if p.Entry < 0 {
			p.Entry = 0
		}
		if v.ledgers[i].open() || int64(p.Entry) < v.ledgers[i].entries {
			return p, gone
		}
		i++
	}
	for ; i < len(v.ledgers); i++ {
		if s := &v.ledgers[i]; s.open() || s.entries > 0 {
			return sdk.Position{Ledger: s.id}, gone
		}
	}
	return p, gone
}

// first returns the position of the oldest entry that is kept; in a log
// without entries it is where the next one will be.
func (v *view) first() sdk.Position {
	if len(v.ledgers) == 0 {
		return v.lac.Next()
	}
	at, _ := v.start(sdk.Position{Ledger: v.ledgers[0].id})
	return at
}

// tail returns the position behind the last confirmed entry: where the next
// one will be, as far as is known.
func (v *view) tail() sdk.Position {
	at, _ := v.start(v.lac.Next())
	return at
}

// count returns the number of kept entries at or before p, p capped by lac.
func (v *view) count(p sdk.Position) int64 {
	if p.After(v.lac) {
		p = v.lac
	}
	i, found := v.find(p.Ledger)
	if found {
		return v.ledgers[i].before + min(max(int64(p.Entry)+1, 0), v.entries(i))
	}
	if i == len(v.ledgers) {
		if i == 0 {
			return 0
		}
		return v.ledgers[i-1].before + v.entries(i-1)
	}
	return v.ledgers[i].before
}

// between returns the number of kept entries in (after, upTo].
func (v *view) between(after, upTo sdk.Position) int64 {
	return max(v.count(upTo)-v.count(after), 0)
}

// nth returns the position of the n-th kept entry behind after (n from 1), or
// of the last confirmed one if there are fewer.
func (v *view) nth(after sdk.Position, n int64) sdk.Position {
	rank := v.count(after) + n
	if rank > v.count(v.lac) {
		return v.lac
	}
	i := sort.Search(len(v.ledgers), func(i int) bool { return v.ledgers[i].before >= rank }) - 1
	return sdk.Position{Ledger: v.ledgers[i].id, Entry: sdk.EntryID(rank - v.ledgers[i].before - 1)}
}

// previous returns the last kept entry before p, or, if there is none, the
// place before the first ledger's first entry.
func (v *view) previous(p sdk.Position) sdk.Position {
	i, found := v.find(p.Ledger)
	if found && p.Entry > 0 {
		if last := v.entries(i); int64(p.Entry) > last && last > 0 {
			return sdk.Position{Ledger: p.Ledger, Entry: sdk.EntryID(last - 1)}
		} else if last > 0 {
			return p.Previous()
		}
	}
	for i--; i >= 0; i-- {
		if n := v.entries(i); n > 0 {
			return sdk.Position{Ledger: v.ledgers[i].id, Entry: sdk.EntryID(n - 1)}
		}
	}
	if len(v.ledgers) == 0 {
		return sdk.Position{Ledger: p.Ledger, Entry: sdk.NoEntry}
	}
	return sdk.Position{Ledger: v.ledgers[0].id, Entry: sdk.NoEntry}
}
