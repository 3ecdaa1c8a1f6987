package managedledger

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/sdk"
)

var errDown = fmt.Errorf("%w: script says so", sdk.ErrUnavailable)

// addLater starts an add and delivers its end.
type ended struct {
	r   AddResult
	err error
}

func (h *house) addLater(m *ManagedLedger, payloads ...string) <-chan ended {
	h.t.Helper()
	out := make(chan ended, 1)
	var b [][]byte
	for _, p := range payloads {
		b = append(b, []byte(p))
	}
	if err := m.AddAsync(b, func(r AddResult, err error) { out <- ended{r, err} }); err != nil {
		h.t.Fatal(err)
	}
	return out
}

// A store fails while adds are on their way. Whatever it did with them, each is
// stored once, in order, where its answer says.
func TestS005SwitchAfterFailure(t *testing.T) {
	unknown := fmt.Errorf("%w: script says so", sdk.ErrUnknownOutcome)
	for name, step := range map[string]scripted.Step{
		"nothing of the batch was stored":          {Before: errDown},
		"all was stored and the answer lost":       {After: unknown},
		"a part was stored and nobody knows":       {After: unknown, Cut: true, Keep: 2},
		"a part was stored and the answer says so": {After: errDown, Cut: true, Keep: 2, Tell: true},
		"nothing was stored and nobody knows":      {After: unknown, Cut: true, Keep: 0},
		"the answer comes twice":                   {Repeat: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			m := h.open("log")
			h.add(m, "before")
			h.ledgers.Next(scripted.Append, step)
			want := []string{"before"}
			var all []<-chan ended
			for i := range 4 {
				p := []string{fmt.Sprint(i, "a"), fmt.Sprint(i, "b"), fmt.Sprint(i, "c")}
				all = append(all, h.addLater(m, p...))
				want = append(want, p...)
			}
			for i, c := range all {
				e := got(t, "add", c)
				if e.err != nil {
					t.Errorf("add %d: %v", i, e.err)
				}
				h.checkAt(m, e.r, want[1+3*i:4+3*i])
			}
			h.add(m, "after")
			want = append(want, "after")
			if got := h.entries(m); !slices.Equal(got, want) {
				t.Errorf("stored %q, want %q", got, want)
			}
			h.close(m)
			m = h.open("log")
			defer h.close(m)
			if got := h.entries(m); !slices.Equal(got, want) {
				t.Errorf("stored after another opening %q, want %q", got, want)
			}
		})
	}
}

// checkAt checks that an add's entries are where its result says.
func (h *house) checkAt(m *ManagedLedger, r AddResult, want []string) {
	h.t.Helper()
	var found []string
	for _, s := range r.Spans() {
		reader, err := h.ledgers.Inner.Open(h.ctx(), s.First.Ledger, sdk.OpenRead)
		if err != nil {
			h.t.Fatal(err)
		}
		reader.Read(h.ctx(), sdk.Range{First: s.First.Entry, Last: s.Last().Entry}, func(p [][]byte, err error) {
			if err != nil {
				h.t.Errorf("read %v: %v", s, err)
			}
			for _, b := range p {
				found = append(found, string(b))
			}
		})
		_ = reader.Close()
	}
	if !slices.Equal(found, want) {
		h.t.Errorf("at %v stands %q, want %q", r.Spans(), found, want)
	}
}

func TestS001LateReplyOfTheOldLedger(t *testing.T) {
	for _, when := range []string{"before the new ledger answers", "after the new ledger answered"} {
		t.Run(when, func(t *testing.T) {
			h := newHouse(t)
			m := h.open("log")
			defer h.close(m)
			h.add(m, "0")
			held, answer := scripted.NewGate(), scripted.NewGate()
			// k is handed over and stored nowhere; its answer is held. The next
			// batch fails, so the ledger is given up.
			h.ledgers.Next(scripted.Append,
				scripted.Step{HoldReply: held, Cut: true, Keep: 0},
				scripted.Step{Before: errDown},
				scripted.Step{HoldReply: answer},
			)
			k := h.addLater(m, "k")
			got(t, "k at the store", held.Reached())
			next := h.addLater(m, "next")
			// The failure of the second batch is behind an answer that never comes:
			// the deadline ends it.
			eventually(t, m, "next at the store", func() bool { return h.ledgers.Calls(scripted.Append) == 3 })
			m.Maintain(time.Now().Add(time.Hour))
			got(t, "k at the new ledger", answer.Reached())
			if when == "before the new ledger answers" {
				held.Open()
				select {
				case e := <-k:
					t.Fatalf("the late answer ended k: %v", e)
				default:
				}
				answer.Open()
			} else {
				answer.Open()
			}
			e := got(t, "k", k)
			if e.err != nil {
				t.Fatalf("k: %v", e.err)
			}
			if when != "before the new ledger answers" {
				held.Open()
			}
			h.checkAt(m, e.r, []string{"k"})
			h.checkAt(m, got(t, "next", next).r, []string{"next"})
			if got := h.entries(m); !slices.Equal(got, []string{"0", "k", "next"}) {
				t.Errorf("stored %q", got)
			}
		})
	}
}

func TestS040MetadataDownForAWhile(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 1
	m := h.open("log")
	defer h.close(m)
	h.add(m, "0")
	eventually(t, m, "rolled", func() bool { return m.State() == StateOpen && h.metadata.Calls(scripted.Put) >= 3 })
	h.metadata.Always(scripted.Put, &scripted.Step{Before: errDown})
	h.add(m, "1") // there is a ledger for it; the roll after it fails
	_, err := m.Add(h.ctx(), []byte("2"))
	if !errors.Is(err, sdk.ErrUnavailable) || errors.Is(err, sdk.ErrUnknownOutcome) {
		t.Errorf("add while the metadata store is down: %v", err)
	}
	if m.State() != StateWriteFailed {
		t.Errorf("state %s", m.State())
	}
	h.metadata.Always(scripted.Put, nil)
	h.add(m, "3", "4")
	if got := h.entries(m); !slices.Equal(got, []string{"0", "1", "3", "4"}) {
		t.Errorf("stored %q", got)
	}
}

// A write of the record that got through although it seemed to fail is not
// another owner's.
func TestRecordWrittenButReportedAsFailed(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	h.metadata.Next(scripted.Put, scripted.Step{After: errors.New("connection lost")})
	h.add(m, "0")
	h.metadata.Next(scripted.Put, scripted.Step{After: sdk.ErrFull})
	if err := m.SetProperties(h.ctx(), map[string]string{"k": "lost"}); !errors.Is(err, sdk.ErrFull) {
		t.Errorf("properties: %v", err)
	}
	if err := m.SetProperties(h.ctx(), map[string]string{"k": "v"}); err != nil {
		t.Errorf("properties after a write that seemed to fail: %v", err)
	}
	h.close(m)
	m = h.open("log")
	if m.Properties()["k"] != "v" {
		t.Errorf("properties %v", m.Properties())
	}
}

func TestDiskFullAndRoomAgain(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	h.add(m, "0")
	full := fmt.Errorf("%w: script says so", sdk.ErrFull)
	h.ledgers.Next(scripted.Append, scripted.Step{Before: full})
	h.ledgers.Next(scripted.Create, scripted.Step{Before: full})
	if _, err := m.Add(h.ctx(), []byte("1")); !errors.Is(err, sdk.ErrFull) || errors.Is(err, sdk.ErrUnknownOutcome) {
		t.Errorf("add on a full disk: %v", err)
	}
	h.add(m, "2")
	if got := h.entries(m); !slices.Equal(got, []string{"0", "2"}) {
		t.Errorf("stored %q", got)
	}
}

// An add that is made upon the answer to one that failed is the next one, and
// tries again.
func TestAddUponAFailureTriesAgain(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	h.add(m, "0")
	h.ledgers.Next(scripted.Append, scripted.Step{Before: sdk.ErrFull})
	h.ledgers.Next(scripted.Create, scripted.Step{Before: sdk.ErrFull})
	second := make(chan error, 1)
	err := m.AddAsync([][]byte{[]byte("1")}, func(_ AddResult, err error) {
		if !errors.Is(err, sdk.ErrFull) {
			t.Errorf("the first add: %v", err)
		}
		if err := m.AddAsync([][]byte{[]byte("2")}, func(_ AddResult, err error) { second <- err }); err != nil {
			second <- err
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := got(t, "add", second); err != nil {
		t.Errorf("the add upon it: %v", err)
	}
}

// A store that cannot be recovered leaves the outcome unknown; when it can, what
// it had stored is there, and the log goes on behind it.
func TestRecoveryOfTheFailedLedgerFails(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	h.add(m, "0")
	h.ledgers.Next(scripted.Append, scripted.Step{After: sdk.ErrUnknownOutcome})
	h.ledgers.Next(scripted.Open, scripted.Step{Before: sdk.ErrCorrupt})
	_, err := m.Add(h.ctx(), []byte("1"))
	if !errors.Is(err, sdk.ErrUnknownOutcome) || !errors.Is(err, sdk.ErrCorrupt) {
		t.Errorf("add: %v", err)
	}
	h.add(m, "2")
	if got := h.entries(m); !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Errorf("stored %q", got)
	}
}

func TestWriterThatNeverAnswers(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	h.add(m, "0")
	h.ledgers.Next(scripted.Append, scripted.Step{Lose: true})
	add := h.addLater(m, "1")
	m.Maintain(time.Now().Add(m.config().StoreTimeout / 2))
	m.Maintain(time.Now().Add(m.config().StoreTimeout * 2))
	e := got(t, "add", add)
	if e.err != nil {
		t.Fatalf("add: %v", e.err)
	}
	h.checkAt(m, e.r, []string{"1"})
	if got := h.entries(m); !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("stored %q", got)
	}
}

func TestStorePanics(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	h.add(m, "0")
	h.ledgers.Next(scripted.Append, scripted.Step{Panic: true})
	h.ledgers.Next(scripted.Create, scripted.Step{Panic: true})
	h.add(m, "1")
	if got := h.entries(m); !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("stored %q", got)
	}
}

// P#12221, P#14664: one creation in flight, however many adds wait for it.
func TestOneCreationInFlight(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	gate := scripted.NewGate()
	h.ledgers.Next(scripted.Create, scripted.Step{HoldReply: gate})
	var adds []<-chan ended
	for i := range 50 {
		adds = append(adds, h.addLater(m, fmt.Sprint(i)))
		m.Maintain(time.Now())
	}
	got(t, "creation", gate.Reached())
	gate.Open()
	for _, c := range adds {
		if e := got(t, "add", c); e.err != nil {
			t.Error(e.err)
		}
	}
	if n := h.ledgers.Calls(scripted.Create); n != 1 {
		t.Errorf("%d ledgers made", n)
	}
	h.close(m)
}

func TestAddAsyncUnlessAnEarlierOneFailed(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	h.add(m, "0")
	before := m.Failures()
	h.ledgers.Next(scripted.Append, scripted.Step{Before: errDown})
	h.ledgers.Next(scripted.Create, scripted.Step{Before: sdk.ErrFull})
	if e := got(t, "add", h.addLater(m, "1")); !errors.Is(e.err, sdk.ErrFull) {
		t.Fatalf("add: %v", e.err)
	}
	never := func(AddResult, error) { t.Error("called") }
	if err := m.AddAsyncUnless(before, [][]byte{[]byte("2")}, never); !errors.Is(err, ErrEarlierFailed) {
		t.Errorf("behind an add that failed: %v", err)
	}
	ok := make(chan error, 1)
	if err := m.AddAsyncUnless(m.Failures(), [][]byte{[]byte("1")}, func(_ AddResult, err error) { ok <- err }); err != nil {
		t.Fatal(err)
	}
	if err := got(t, "add", ok); err != nil {
		t.Error(err)
	}
}

func TestStoreThatGivesAnOldLedgerID(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	h.add(m, "0")
	h.close(m)
	other := newHouse(t)
	other.metadata = h.metadata
	other.settings.Metadata = h.metadata // the store was replaced by an empty one
	m = other.open("log")
	defer other.close(m)
	if _, err := m.Add(other.ctx(), []byte("1")); !errors.Is(err, sdk.ErrCorrupt) {
		t.Errorf("add: %v", err)
	}
}
