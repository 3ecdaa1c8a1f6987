package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// scriptedLog is a log whose answers a test gives.
type scriptedLog struct {
	failures uint64
	refuse   error
	waiting  []scriptedAdd
	stored   []uint64
	lac      sdk.Position
}

type scriptedAdd struct {
	payloads [][]byte
	done     func(managedledger.AddResult, int, error)
}

func (l *scriptedLog) Failures() uint64            { return l.failures }
func (l *scriptedLog) LastConfirmed() sdk.Position { return l.lac }

func (l *scriptedLog) add(failures uint64, payloads [][]byte, done func(managedledger.AddResult, int, error)) error {
	if l.refuse != nil {
		return l.refuse
	}
	if failures != l.failures {
		return sdk.ErrBusy
	}
	l.waiting = append(l.waiting, scriptedAdd{payloads, done})
	return nil
}

// store answers the oldest add with success.
func (l *scriptedLog) store() {
	a := l.waiting[0]
	l.waiting = l.waiting[1:]
	for _, p := range a.payloads {
		m, err := message.Decode(p)
		if err != nil {
			panic(err)
		}
		l.stored = append(l.stored, m.Sequence)
		l.lac = l.lac.Next()
	}
	a.done(managedledger.AddResult{}, len(a.payloads), nil)
}

// fail answers all adds there are with err: first they fail, then their
// callers hear of it.
func (l *scriptedLog) fail(err error) {
	l.failures++
	failed := l.waiting
	l.waiting = nil
	for _, a := range failed {
		a.done(managedledger.AddResult{}, 0, err)
	}
}

// session is a producer over a scripted log, and what it heard.
type session struct {
	*Producer
	heard []string
}

func newSet(log producerLog, limit int) *producers {
	s := newProducers(log, slog.New(slog.DiscardHandler), func() int { return limit })
	s.noted, s.doubted = func(sdk.Position, int) {}, func() {}
	return s
}

func openSession(t interface{ Fatal(...any) }, s *producers, name string) *session {
	r, number, err := s.open(name)
	if err != nil {
		t.Fatal(err)
	}
	return &session{Producer: &Producer{topic: &Topic{name: "t", producers: s}, record: r, session: number}}
}

// send appends messages of the given sequences.
func (s *session) send(sequences ...uint64) {
	msgs := make([]message.Message, len(sequences))
	payloads := make([][]byte, len(sequences))
	for i, n := range sequences {
		msgs[i] = message.Message{Sequence: n, Producer: s.record.name}
		payloads[i] = msgs[i].AppendTo(nil)
	}
	s.record.take(newProducerAdd(s.Producer, msgs, payloads, func(a Appended, err error) {
		s.heard = append(s.heard, heard(sequences, a, err))
	}))
}

func heard(sequences []uint64, a Appended, err error) string {
	outcome := fmt.Sprintf("stored %d duplicates %d", len(sequences)-a.Duplicates, a.Duplicates)
	for text, sentinel := range map[string]error{
		"replaced": ErrProducerReplaced, "sequence": ErrProducerSequence, "unavailable": sdk.ErrUnavailable,
		"busy": sdk.ErrBusy, "unknown": sdk.ErrUnknownOutcome,
	} {
		if errors.Is(err, sentinel) {
			outcome = text
		}
	}
	return fmt.Sprint(sequences, " ", outcome)
}

func (s *session) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.heard, want) {
		t.Errorf("heard %q, want %q", s.heard, want)
	}
	s.heard = nil
}

func TestProducerStoresOnce(t *testing.T) {
	log := &scriptedLog{}
	p := openSession(t, newSet(log, 10), "p")
	if _, known := p.LastSequence(); known {
		t.Error("a new producer has a last sequence")
	}
	p.send(0, 1, 2)
	p.send(1, 2) // pending: answered with the first
	p.expect(t)
	log.store()
	p.expect(t, "[0 1 2] stored 3 duplicates 0", "[1 2] stored 0 duplicates 2")
	p.send(0)
	p.expect(t, "[0] stored 0 duplicates 1")
	p.send(2, 5, 9)
	log.store()
	p.expect(t, "[2 5 9] stored 2 duplicates 1")
	p.send(5, 7) // below the last one: not told from a repetition
	p.expect(t, "[5 7] stored 0 duplicates 2")
	p.send(10)
	p.send(8, 9, 10, 11) // stored, pending, new
	log.store()
	log.store()
	p.expect(t, "[10] stored 1 duplicates 0", "[8 9 10 11] stored 1 duplicates 3")
	if !slices.Equal(log.stored, []uint64{0, 1, 2, 5, 9, 10, 11}) {
		t.Errorf("stored %v", log.stored)
	}
	if last, known := p.LastSequence(); last != 11 || !known {
		t.Errorf("last sequence %d, %v", last, known)
	}
}

func TestProducerAfterFailure(t *testing.T) {
	log := &scriptedLog{}
	p := openSession(t, newSet(log, 10), "p")
	p.send(1)
	p.send(2)
	p.send(1, 2)
	log.fail(sdk.ErrUnavailable)
	p.expect(t, "[1] unavailable", "[2] unavailable", "[1 2] unavailable")
	p.send(3)
	p.expect(t, "[3] sequence")
	p.send(2)
	p.expect(t, "[2] sequence")
	p.send(1, 2)
	p.send(3)
	log.store()
	log.store()
	p.expect(t, "[1 2] stored 2 duplicates 0", "[3] stored 1 duplicates 0")
	if !slices.Equal(log.stored, []uint64{1, 2, 3}) {
		t.Errorf("stored %v", log.stored)
	}
}

// Each append that failed or was refused has to come again, not just the first:
// one behind them that is stored would make their repetition look like a
// duplicate.
func TestProducerOwesAllThatFailed(t *testing.T) {
	log := &scriptedLog{}
	p := openSession(t, newSet(log, 10), "p")
	p.send(1)
	p.send(2)
	log.fail(sdk.ErrBusy)
	p.send(3)
	p.expect(t, "[1] busy", "[2] busy", "[3] sequence")
	p.send(1)
	log.store()
	p.send(3)
	p.send(4)
	p.expect(t, "[1] stored 1 duplicates 0", "[3] sequence", "[4] sequence")
	for sequence := range uint64(3) {
		p.send(sequence + 2)
		log.store()
	}
	p.expect(t, "[2] stored 1 duplicates 0", "[3] stored 1 duplicates 0", "[4] stored 1 duplicates 0")
	if !slices.Equal(log.stored, []uint64{1, 2, 3, 4}) {
		t.Errorf("stored %v", log.stored)
	}
}

// An append that comes between the failure of one before it and the moment its
// caller hears of it must fail too: it would make a repetition of the failed one
// look like a duplicate.
func TestProducerBetweenFailureAndAnswer(t *testing.T) {
	log := &scriptedLog{}
	p := openSession(t, newSet(log, 10), "p")
	p.send(1)
	log.failures++
	failed := log.waiting[0]
	log.waiting = nil
	p.send(2)
	p.expect(t, "[2] busy")
	failed.done(managedledger.AddResult{}, 0, sdk.ErrUnavailable)
	p.expect(t, "[1] unavailable")
	p.send(2)
	p.expect(t, "[2] sequence")
	p.send(1)
	log.store()
	p.expect(t, "[1] stored 1 duplicates 0")
}

func TestProducerRefusedByTheLog(t *testing.T) {
	log := &scriptedLog{refuse: sdk.ErrBusy}
	p := openSession(t, newSet(log, 10), "p")
	p.send(1)
	log.refuse = nil
	p.send(2)
	p.expect(t, "[1] busy", "[2] sequence")
	p.send(1)
	p.send(2)
	log.store()
	log.store()
	p.expect(t, "[1] stored 1 duplicates 0", "[2] stored 1 duplicates 0")
}

func TestProducerSessions(t *testing.T) {
	log := &scriptedLog{}
	set := newSet(log, 10)
	older := openSession(t, set, "p")
	older.send(1)
	newer := openSession(t, set, "p")
	older.send(2)
	older.expect(t, "[2] replaced")
	newer.send(1)
	newer.send(2)
	log.store()
	log.store()
	older.expect(t, "[1] stored 1 duplicates 0")
	newer.expect(t, "[1] stored 0 duplicates 1", "[2] stored 1 duplicates 0")
	newer.send(3)
	log.fail(sdk.ErrUnavailable)
	third := openSession(t, set, "p")
	third.send(9) // a new session may give up on what failed
	log.store()
	third.expect(t, "[9] stored 1 duplicates 0")
}

// A callback may append again, to its own producer, which does not wait.
func TestProducerAppendsFromCallback(t *testing.T) {
	log := &scriptedLog{}
	p := openSession(t, newSet(log, 10), "p")
	m := message.Message{Sequence: 1}
	p.record.take(newProducerAdd(p.Producer, []message.Message{m}, [][]byte{m.AppendTo(nil)}, func(Appended, error) { p.send(2) }))
	log.store()
	log.store()
	p.expect(t, "[2] stored 1 duplicates 0")
}

func TestProducerCallbackPanics(t *testing.T) {
	log := &scriptedLog{}
	p := openSession(t, newSet(log, 10), "p")
	m := message.Message{Sequence: 1}
	boom := newProducerAdd(p.Producer, []message.Message{m}, [][]byte{m.AppendTo(nil)}, func(Appended, error) { panic("boom") })
	p.record.take(boom)
	p.send(1)
	p.send(2)
	log.store()
	log.store()
	p.expect(t, "[1] stored 0 duplicates 1", "[2] stored 1 duplicates 0")
}

func TestProducersAreForgotten(t *testing.T) {
	log := &scriptedLog{}
	set := newSet(log, 2)
	a, b := openSession(t, set, "a"), openSession(t, set, "b")
	if _, _, err := set.open("c"); !errors.Is(err, sdk.ErrBusy) {
		t.Errorf("a third session beside two open ones: %v", err)
	}
	a.send(1)
	b.send(1)
	log.store()
	log.store()
	b.Close()
	a.Close()
	a.Close()
	openSession(t, set, "a").Close() // used later than b
	openSession(t, set, "c")
	if _, known := openSession(t, set, "a").LastSequence(); !known {
		t.Error("a was forgotten, b was used less recently")
	}
	if _, kept := set.byName["b"]; kept || len(set.byName) != 2 {
		t.Errorf("%d producers are kept, b is %v", len(set.byName), kept)
	}
}

// Whatever the log answers, a producer that repeats what failed, from the
// first one on, ends with every sequence stored once and in order.
func TestProducerModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := &scriptedLog{}
		set := newSet(log, 10)
		p := openSession(t, set, "p")
		const total = 12
		next, confirmed := uint64(1), uint64(0)
		send := func(from, to uint64) {
			var sequences []uint64
			for n := from; n <= to; n++ {
				sequences = append(sequences, n)
			}
			msgs := make([]message.Message, len(sequences))
			payloads := make([][]byte, len(sequences))
			for i, n := range sequences {
				msgs[i] = message.Message{Sequence: n}
				payloads[i] = msgs[i].AppendTo(nil)
			}
			p.record.take(newProducerAdd(p.Producer, msgs, payloads, func(a Appended, err error) {
				if err != nil {
					next = min(next, from)
				} else {
					confirmed = max(confirmed, to)
				}
			}))
		}
		for step := 0; confirmed < total && step < 1000; step++ {
			switch rapid.IntRange(0, 4).Draw(t, "action") {
			case 0, 1:
				if next <= total {
					to := min(next+uint64(rapid.IntRange(0, 3).Draw(t, "more")), total)
					from := next
					next = to + 1
					send(from, to)
				}
			case 2:
				if len(log.waiting) > 0 {
					log.store()
				}
			case 3:
				if step < 500 {
					log.fail(sdk.ErrUnavailable)
				}
			case 4: // a repetition out of caution
				from := uint64(rapid.IntRange(1, int(next)).Draw(t, "from"))
				if from < next {
					send(from, next-1)
				}
			}
		}
		if confirmed < total {
			t.Fatalf("only %d of %d were confirmed", confirmed, total)
		}
		for i, n := range log.stored {
			if n != uint64(i)+1 {
				t.Fatalf("stored %v", log.stored)
			}
		}
		if len(log.stored) != total {
			t.Fatalf("stored %v", log.stored)
		}
	})
}
