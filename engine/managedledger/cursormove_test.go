package managedledger

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// timed has the log read publish times from payloads like "30 text"; "- text"
// has none.
func (h *house) timed() {
	h.settings.PublishTime = func(payload []byte) (time.Time, bool) {
		second, err := strconv.Atoi(strings.Fields(string(payload))[0])
		return moment(second), err == nil
	}
}

func moment(second int) time.Time { return time.Unix(int64(second), 0) }

func TestFindTime(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []string
		time    int
		want    int // index of the entry; len(entries) is the tail
	}{
		{"before all", []string{"10", "20", "30"}, 5, 0},
		{"at one", []string{"10", "20", "30"}, 20, 1},
		{"between", []string{"10", "20", "30"}, 21, 2},
		{"behind all", []string{"10", "20", "30"}, 31, 3},
		{"the first of equal ones", []string{"10", "20", "20", "20", "30", "30"}, 20, 1},
		{"over ledgers", []string{"10", "20", "30", "40", "50", "60", "70"}, 60, 5},
		{"none has a time", []string{"-", "-", "-"}, 10, 0},
		{"an empty log", nil, 10, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			h.timed()
			h.config.MaxEntriesPerLedger = 3
			m := h.open("log")
			defer h.close(m)
			where := h.add(m, c.entries...)
			found, err := m.FindTime(h.ctx(), moment(c.time))
			if err != nil {
				t.Fatal(err)
			}
			want := m.Resolve(Latest())
			if c.want < len(where) {
				want = where[c.want]
			}
			if found != want {
				t.Errorf("found %s, want %s of %v", found, want, where)
			}
		})
	}
}

func TestTimesWithoutAReaderOfThem(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	if _, err := m.FindTime(h.ctx(), moment(1)); !errors.Is(err, sdk.ErrUnsupported) {
		t.Errorf("find: %v", err)
	}
	if _, err := h.cursor(m, "c").Expire(h.ctx(), moment(1)); !errors.Is(err, sdk.ErrUnsupported) {
		t.Errorf("expire: %v", err)
	}
}

func TestSeekTime(t *testing.T) {
	h := newHouse(t)
	h.timed()
	m := h.open("log")
	defer h.close(m)
	h.add(m, "10", "20", "30", "40")
	c := h.cursor(m, "c")
	for second, want := range map[int][]string{0: {"10", "20", "30", "40"}, 25: {"30", "40"}, 99: nil} {
		if err := c.SeekTime(h.ctx(), moment(second)); err != nil {
			t.Fatal(err)
		}
		equal(t, "read", texts(h.readAll(c, 10)), want)
	}
}

func TestExpire(t *testing.T) {
	h := newHouse(t)
	h.timed()
	h.config.MaxEntriesPerLedger = 3
	m := h.open("log")
	defer h.close(m)
	where := h.add(m, "10", "20", "30", "40", "50")
	c := h.cursor(m, "c")
	if err := c.Acknowledge(h.ctx(), where[1]); err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		before  int
		expired int64
		backlog int64
	}{{5, 0, 4}, {10, 0, 4}, {40, 2, 2}, {40, 0, 2}, {99, 2, 0}, {99, 0, 0}} {
		n, err := c.Expire(h.ctx(), moment(s.before))
		if err != nil || n != s.expired || c.Backlog() != s.backlog {
			t.Errorf("expired %d before %d, backlog %d, %v; want %d and %d", n, s.before, c.Backlog(), err, s.expired, s.backlog)
		}
	}
}

func TestSkipAndClear(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 4
	m := h.open("log")
	defer h.close(m)
	where := h.add(m, numbered(0, 10)...)
	c := h.cursor(m, "c")
	if err := c.Acknowledge(h.ctx(), where[1], where[2], where[4]); err != nil {
		t.Fatal(err)
	}
	if err := c.Skip(h.ctx(), 0); err != nil || c.Backlog() != 7 {
		t.Fatalf("skip none: backlog %d, %v", c.Backlog(), err)
	}
	if err := c.Skip(h.ctx(), 3); err != nil { // 0, 3 and 5
		t.Fatal(err)
	}
	equal(t, "read behind what was skipped", texts(h.readAll(c, 10)), numbered(6, 4))
	if c.MarkDelete() != where[5] || c.Backlog() != 4 {
		t.Errorf("mark-delete %s, backlog %d", c.MarkDelete(), c.Backlog())
	}
	if err := c.Skip(h.ctx(), -1); !errors.Is(err, sdk.ErrInvalid) {
		t.Errorf("skip less than none: %v", err)
	}
	if err := c.Skip(h.ctx(), 100); err != nil || c.Backlog() != 0 {
		t.Errorf("skip more than there are: backlog %d, %v", c.Backlog(), err)
	}
	h.add(m, numbered(10, 2)...)
	if err := c.Clear(h.ctx()); err != nil || c.Backlog() != 0 || c.HasMore() {
		t.Errorf("clear: backlog %d, more %t, %v", c.Backlog(), c.HasMore(), err)
	}
	if err := c.Clear(h.ctx()); err != nil {
		t.Errorf("clear again: %v", err)
	}
}

func TestRewind(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	where := h.add(m, numbered(0, 5)...)
	c := h.cursor(m, "c")
	h.readAll(c, 10)
	if err := c.Acknowledge(h.ctx(), where[0], where[2]); err != nil {
		t.Fatal(err)
	}
	c.Rewind()
	if c.ReadPosition() != where[1] {
		t.Errorf("read position %s, want %s", c.ReadPosition(), where[1])
	}
	equal(t, "read again", texts(h.readAll(c, 10)), []string{"entry 1", "entry 3", "entry 4"})
}

func TestAcknowledgeWhatIsNotThere(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 3
	m := h.open("log")
	defer h.close(m)
	where := h.add(m, numbered(0, 5)...)
	c := h.cursor(m, "c")
	last := where[4]
	for _, p := range []sdk.Position{last.Next(), {Ledger: last.Ledger + 7}, {Ledger: where[0].Ledger, Entry: 3}, {Ledger: where[0].Ledger, Entry: -1}, {Ledger: -1}} {
		if err := c.Acknowledge(h.ctx(), where[0], p); !errors.Is(err, reason.ErrPositionInvalid) {
			t.Errorf("acknowledge %s: %v", p, err)
		}
	}
	for _, p := range []sdk.Position{last.Next(), {Ledger: where[0].Ledger, Entry: 3}, {Ledger: -1, Entry: -1}} {
		if err := c.AcknowledgeUpTo(h.ctx(), p); !errors.Is(err, reason.ErrPositionInvalid) {
			t.Errorf("acknowledge up to %s: %v", p, err)
		}
	}
	if c.Backlog() != 5 {
		t.Errorf("backlog %d: something was acknowledged all the same", c.Backlog())
	}
	for range 2 { // once is as good as twice
		if err := c.Acknowledge(h.ctx(), where[0], where[0], where[4]); err != nil {
			t.Error(err)
		}
		if err := c.AcknowledgeUpTo(h.ctx(), sdk.Position{Ledger: where[3].Ledger, Entry: sdk.NoEntry}); err != nil {
			t.Error(err)
		}
	}
	if c.Backlog() != 1 {
		t.Errorf("backlog %d, want 1", c.Backlog())
	}
}

func TestResolve(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 3
	m := h.open("log")
	defer h.close(m)
	for _, s := range []Start{Earliest(), Latest(), At(sdk.Position{Ledger: 9}), {}} {
		if p := m.Resolve(s); p != (sdk.Position{}) {
			t.Errorf("%v of an empty log is %s", s, p)
		}
	}
	where := h.add(m, numbered(0, 5)...)
	tail := where[4].Next()
	for _, c := range []struct {
		from Start
		want sdk.Position
	}{
		{Earliest(), where[0]}, {Latest(), tail}, {At(where[1]), where[1]}, {After(where[1]), where[2]},
		{After(where[2]), where[2].Next()}, {At(tail), tail}, {At(tail.Next()), tail}, {After(tail), tail},
		{At(sdk.Position{Ledger: 99}), tail},
	} {
		if p := m.Resolve(c.from); p != c.want {
			t.Errorf("%v is %s, want %s", c.from, p, c.want)
		}
	}
}

// A seek back keeps what it leads to, from the moment when it is asked for.
func TestSeekBackDuringTrim(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 3
	h.config.RetentionBytes, h.config.RetentionTime = -1, -1
	m := h.open("log")
	defer h.close(m)
	where := h.add(m, numbered(0, 8)...)
	eventually(t, m, "rolled", func() bool { return len(m.Stats().Ledgers) == 3 && m.State() == StateOpen })
	c := h.cursor(m, "c")
	if err := c.AcknowledgeUpTo(h.ctx(), where[7]); err != nil {
		t.Fatal(err)
	}

	// Not written down yet, and heeded.
	held := scripted.NewGate()
	h.metadata.Next(scripted.Put, scripted.Step{Hold: held})
	sought := later(func() error { return c.Seek(h.ctx(), At(where[4])) })
	got(t, "the write", held.Reached())
	if n := m.removable(true); n != 1 {
		t.Errorf("%d ledgers may go, want 1", n)
	}
	held.Open()
	if err := got(t, "the seek", sought); err != nil {
		t.Fatal(err)
	}

	// What is just going is not there any more.
	held = scripted.NewGate()
	h.metadata.Next(scripted.Put, scripted.Step{Hold: held})
	trimmed := later(func() error {
		_, err := m.trim(h.ctx(), true)
		return err
	})
	got(t, "the write of the trim", held.Reached())
	if err := c.Seek(h.ctx(), Earliest()); err != nil {
		t.Fatal(err)
	}
	late, err := m.OpenCursor(h.ctx(), "late", CursorOptions{Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	held.Open()
	if err := got(t, "the trim", trimmed); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Cursor{c, late} {
		r, err := c.Read(h.ctx(), Max{Entries: 10})
		if err != nil || r.Gone {
			t.Errorf("%s: gone %t, %v", c.Name(), r.Gone, err)
		}
		equal(t, c.Name(), r.payloads(), numbered(3, 5))
	}
}
