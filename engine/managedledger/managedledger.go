package managedledger

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// ManagedLedger is the log behind a topic, owned by this process. All methods
// may be called from any goroutine; those that wait must not be called from a
// callback of the same managed ledger.
type ManagedLedger struct {
	name     string
	settings Settings
	log      *slog.Logger
	lane     scheduling.Lane

	// ctx ends when the log is being closed or was lost, and with it what is
	// done for readers. work ends when closing may take no longer: a job that is
	// running when closing begins is left to end in order.
	ctx, work          context.Context
	cancel, cancelWork context.CancelFunc

	configured atomic.Pointer[Config]
	published  atomic.Pointer[view]
	properties atomic.Pointer[map[string]string]

	intake  intake
	waiters waiters
	handles handles
	cursors cursors

	// What Maintain looks at without troubling the lane.
	openedAt   atomic.Int64 // unix nanoseconds; when the open ledger was made
	sentAt     atomic.Int64 // unix nanoseconds; oldest unanswered append, 0: none
	totals     totals
	trimQueued atomic.Bool

	closing sync.Once
	closed  chan struct{} // closed at the end of closing, which sets closeErr
	// closeErr is how closing went; read it after closed.
	closeErr error

	lanes laneState
}

// laneState is what only tasks of the lane touch, and the running job in those
// places where it says so.
type laneState struct {
	// writing is the open ledger and its writer; nil if there is none.
	writing *writing
	// resend are batches that were taken from the intake and wait, in order,
	// for the next ledger: the store failed to take them.
	resend []*batch
	// taken and finished are spare backings: of what is taken from the intake,
	// and of what is answered.
	taken, finished []*batch
	// stalled says that the intake holds adds that the lane has not taken,
	// because the window is full or no ledger is open.
	stalled bool
	// rolling says that a roll is queued or running, and wanted that it is to
	// end with an open ledger also if no add waits for it.
	rolling, wanted bool
	// old is a ledger that failed or is full and has yet to be settled, and
	// created a new one that is not part of the stored list yet. The running
	// job owns both.
	old     *writing
	created sdk.LedgerWriter

	jobs jobs
	// stored is the record as it was last written, and version its version.
	// The running job owns both.
	stored  record
	version sdk.Version
}

// current returns what is visible of the log now.
func (m *ManagedLedger) current() *view { return m.published.Load() }

// config returns the choices in force. An operation asks once and keeps them.
func (m *ManagedLedger) config() *Config { return m.configured.Load() }

// Name returns the managed ledger's name.
func (m *ManagedLedger) Name() string { return m.name }

// LastConfirmed returns the LAC: the last entry that was acknowledged. In a log
// that never had an entry its entry is sdk.NoEntry.
func (m *ManagedLedger) LastConfirmed() sdk.Position { return m.current().lac }

// State returns where the managed ledger is in its life.
func (m *ManagedLedger) State() State { return m.current().state }

// Config returns the choices in force.
func (m *ManagedLedger) Config() Config { return *m.config() }

// Configure changes the choices. Operations that have begun keep theirs.
func (m *ManagedLedger) Configure(c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	m.configured.Store(&c)
	m.intake.limit(c.MaxPendingEntries, c.MaxPendingBytes)
	m.kick()
	m.trimSoon()
	return nil
}

// Properties returns what was stored with the log by SetProperties or at its
// creation. The map is the caller's.
func (m *ManagedLedger) Properties() map[string]string {
	return maps.Clone(*m.properties.Load())
}

// publish makes a changed copy of the view visible. It runs on the lane.
func (m *ManagedLedger) publish(change func(v *view)) {
	v := *m.current()
	change(&v)
	m.published.Store(&v)
}

// post runs a task on the lane, as soon as the lane takes it. It is for work
// that must not get lost. False means that the lane was closed, by who owns the
// executor.
func (m *ManagedLedger) post(kind scheduling.Kind, task scheduling.Task) bool {
	err := m.lane.Post(kind, task)
	if err == nil {
		return true
	} else if isClosedLane(err) {
		return false
	}
	time.AfterFunc(retryFirst, func() { m.post(kind, task) })
	return true
}
