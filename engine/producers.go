package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
)

// producerLog is what producers need of a managed ledger.
type producerLog interface {
	// add is AddAsync that refuses when the log has failed adds since Failures
	// returned failures. done is also told how many entries were stored.
	add(failures uint64, payloads [][]byte, done func(result managedledger.AddResult, stored int, err error)) error
	Failures() uint64
	LastConfirmed() sdk.Position
}

// ledgerLog is the producerLog of a managed ledger.
type ledgerLog struct{ *managedledger.ManagedLedger }

func (l ledgerLog) add(failures uint64, payloads [][]byte, done func(managedledger.AddResult, int, error)) error {
	err := l.AddAsyncUnless(failures, payloads, func(result managedledger.AddResult, err error) {
		stored := len(payloads)
		if err != nil {
			stored = 0
			for _, span := range result.Spans() {
				stored += span.Count
			}
		}
		done(result, stored, err)
	})
	if errors.Is(err, managedledger.ErrEarlierFailed) {
		return fmt.Errorf("%w: %w; it has to come again first", sdk.ErrBusy, err)
	}
	return err
}

// producers are the named producers of one topic.
type producers struct {
	log    producerLog
	logger *slog.Logger
	limit  func() int // how many to remember

	clock      atomic.Uint64 // counts uses, to know who was used last
	inFlight   atomic.Int64  // appends with the log
	duplicates atomic.Int64  // messages that were recognised
	// doubt says that the outcome of an append is unknown, so that nothing is
	// taken until the log has found out and the records know.
	doubt atomic.Bool

	mu     sync.Mutex // guards byName; a record's mu may be taken while it is held
	byName map[string]*producerRecord

	// noted is told of each append that was stored, in the order of the log, and
	// doubted that an append had to be refused because of doubt. Neither blocks.
	noted   func(last sdk.Position, n int)
	doubted func()

	snapshots *producerSnapshots
}

func newProducers(log producerLog, logger *slog.Logger, limit func() int) *producers {
	return &producers{log: log, logger: logger, limit: limit, byName: map[string]*producerRecord{}}
}

// open begins a session of the producer of that name.
func (s *producers) open(name string) (*producerRecord, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.record(name)
	if err != nil {
		return nil, 0, err
	}
	return r, r.enter(), nil
}

// record returns the record of that name, and makes one, for which another may
// have to be forgotten. It is called with mu held.
func (s *producers) record(name string) (*producerRecord, error) {
	r := s.byName[name]
	if r == nil {
		if limit := s.limit(); !s.forget(limit - 1) {
			return nil, fmt.Errorf("%w: %d producers have open sessions, the limit is max-producers-per-topic", sdk.ErrBusy, limit)
		}
		r = &producerRecord{name: name, set: s}
		s.byName[name] = r
	}
	r.used.Store(s.clock.Add(1))
	return r, nil
}

// forget removes idle records, the least recently used first, until there are
// at most keep. It says whether that is so. It is called with mu held.
func (s *producers) forget(keep int) bool {
	for len(s.byName) > keep {
		var oldest *producerRecord
		for _, r := range s.byName {
			if (oldest == nil || r.used.Load() < oldest.used.Load()) && r.idle() {
				oldest = r
			}
		}
		if oldest == nil {
			return false
		}
		delete(s.byName, oldest.name)
	}
	return true
}

// replayed records that an entry of a producer was found stored.
func (s *producers) replayed(name []byte, sequence uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byName[string(name)]
	if r == nil {
		var err error
		if r, err = s.record(string(name)); err != nil {
			return // not while nobody has a session
		}
	}
	r.used.Store(s.clock.Add(1))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored, r.known = max(r.stored, sequence), true
}

// ended counts an append that the log has answered. Answers come in the order
// of the log.
func (s *producers) ended(result managedledger.AddResult, stored int) {
	if stored > 0 {
		s.noted(result.Last(), stored)
	}
	s.inFlight.Add(-1)
}

// ProducerDescription is what a topic knows of a named producer.
type ProducerDescription struct {
	Name string `json:"name"`
	// LastSequence is the highest stored sequence; absent if there is none.
	LastSequence *uint64 `json:"lastSequence,omitempty"`
	// Connected says that a session is open.
	Connected bool `json:"connected"`
	// Pending is how many appends have no answer yet.
	Pending int `json:"pending"`
}

// describe returns all producers, by name.
func (s *producers) describe() []ProducerDescription {
	records := s.byUse()
	all := make([]ProducerDescription, 0, len(records))
	for _, r := range records {
		r.mu.Lock()
		d := ProducerDescription{Name: r.name, Connected: r.open, Pending: len(r.pending) + len(r.queue)}
		if stored := r.stored; r.known {
			d.LastSequence = &stored
		}
		r.mu.Unlock()
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b ProducerDescription) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// count returns how many producers are known.
func (s *producers) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byName)
}

// byUse returns the records, the least recently used first.
func (s *producers) byUse() []*producerRecord {
	s.mu.Lock()
	records := make([]*producerRecord, 0, len(s.byName))
	for _, r := range s.byName {
		records = append(records, r)
	}
	s.mu.Unlock()
	type use struct {
		record *producerRecord
		at     uint64
	}
	uses := make([]use, len(records))
	for i, r := range records {
		uses[i] = use{r, r.used.Load()}
	}
	slices.SortFunc(uses, func(a, b use) int {
		if a.at < b.at {
			return -1
		}
		return 1
	})
	for i := range uses {
		records[i] = uses[i].record
	}
	return records
}
