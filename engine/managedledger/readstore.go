package managedledger

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/tidemark-engine/tidemark/engine/entrycache"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// maxReadTries bounds how often a read asks again that got no answer, or one
// that cannot be: no entries, no such entry below the LAC, a handle that was
// closed.
const maxReadTries = 3

// The two sides of something that may end before its starter has returned: who
// comes second goes on.
const (
	underWay uint32 = iota
	answered        // the answer is there
	left            // the starter has returned
)

// fetch reads the run from the store. If the answer comes at once, it goes on
// here; otherwise where it comes.
func (op *readOp) fetch() (more bool) {
	op.reply.Store(underWay)
	op.r.m.handles.get(op.run.Ledger, op.onHandle)
	if op.reply.Swap(left) == answered {
		return op.taken()
	}
	return false
}

// handle goes on with the handle of the ledger.
func (op *readOp) handle(ledger sdk.LedgerReader, kind scheduling.Handle, err error) {
	if err != nil {
		op.replied(nil, err)
		return
	}
	op.kind = kind
	ctx, plan := op.prepare()
	op.r.m.settings.Cache.Read(ctx, entrycache.ReadRequest{
		Reader:         ledger,
		Range:          sdk.Range{First: op.run.First, Last: plan.last, MaxBytes: plan.bytes},
		Keep:           op.r.acks != nil,
		EstimatedBytes: plan.estimate,
	}, op.starting().start, op.onReply)
}

// prepare makes the context of a storage read, which ends when it is abandoned,
// when the reader is moved, or at the store's time limit; and says how far to
// read.
func (op *readOp) prepare() (context.Context, readPlan) {
	r := op.r
	base := op.ctx
	if base == nil {
		base = r.m.ctx
	}
	var ctx context.Context
	var cancel func()
	if limit := op.config.StoreTimeout; limit > 0 {
		ctx, cancel = context.WithTimeout(base, limit)
	} else {
		ctx, cancel = context.WithCancel(base)
	}
	if op.ctx != nil {
		end := cancel
		forget := context.AfterFunc(r.m.ctx, end)
		cancel = func() { forget(); end() }
	}
	r.mu.Lock()
	useless := op.abandoned || op.epoch != r.epoch
	op.cancel = cancel
	plan := r.ahead.plan(op)
	r.mu.Unlock()
	if useless {
		cancel()
	}
	return ctx, plan
}

// starting is what starts the storage read of op: with what op says now, because
// the cache may start it when op has ended and its record is used again.
func (op *readOp) starting() *storageStart {
	return &storageStart{m: op.r.m, strategy: op.config.Submission, kind: op.kind, mayBlock: op.mayBlock}
}

// storageStart starts a storage read. If the store blocks, the read itself never
// runs on a lane, nor on the goroutine of somebody who cannot wait.
type storageStart struct {
	m        *ManagedLedger
	strategy scheduling.Strategy
	kind     scheduling.Handle
	mayBlock bool
}

// start hands the start of the read to the submission strategy.
func (b *storageStart) start(task scheduling.Task) error {
	if !b.m.settings.Store.BlockingReads {
		return b.strategy.Submit(b.m.lane, b.kind, task)
	}
	s := &blockingStart{executor: b.m.settings.Executor, task: task}
	if err := b.strategy.Submit(b.m.lane, b.kind, s); err != nil {
		return err
	}
	if s.state.Swap(left) == underWay {
		return nil // its turn is still to come
	}
	if b.mayBlock {
		scheduling.RunHere(task)
		return nil
	}
	return b.m.settings.Executor.Go(task)
}

// blockingStart is the turn of a read that blocks. If it comes while its starter
// is still there, it is the starter that goes on.
type blockingStart struct {
	executor scheduling.Executor
	task     scheduling.Task
	state    atomic.Uint32
}

func (s *blockingStart) Run() {
	if s.state.Swap(answered) != left {
		return
	}
	if err := s.executor.Go(s.task); err != nil {
		s.Failed(err)
	}
}

// Failed ends the read if it cannot be started.
func (s *blockingStart) Failed(err error) {
	if f, ok := s.task.(scheduling.Failer); ok {
		f.Failed(err)
	}
}

// replied takes the store's answer, on whatever goroutine it comes.
func (op *readOp) replied(payloads [][]byte, err error) {
	op.answer, op.refusal = payloads, err
	if op.reply.Swap(answered) != left {
		return
	}
	op.mayBlock = false
	if op.taken() {
		op.proceed()
	}
}

// taken goes on with the store's answer.
func (op *readOp) taken() (more bool) {
	r := op.r
	payloads, err := op.answer, op.refusal
	op.answer, op.refusal = nil, nil
	r.mu.Lock()
	cancel := op.cancel
	op.cancel = nil
	stale := op.abandoned || op.epoch != r.epoch
	if !stale && err == nil {
		r.ahead.end = sdk.Position{Ledger: op.run.Ledger, Entry: op.run.First + sdk.EntryID(len(payloads))}
	}
	r.mu.Unlock()
	call(cancel)
	switch {
	case stale:
		return true
	case err != nil:
		return op.failed(err)
	case len(payloads) == 0:
		return op.failed(errNoAnswer)
	}
	return op.arrived(payloads)
}

// errNoAnswer is a store that answers a read with neither entries nor an error.
var errNoAnswer = fmt.Errorf("%w: store answered a read with no entries", sdk.ErrUnavailable)

// failed goes on after a storage read that failed: by trying again if the
// failure may be one of this moment, else by ending the read.
func (op *readOp) failed(err error) (more bool) {
	m := op.r.m
	v := m.current()
	_, exists := v.find(op.run.Ledger)
	switch {
	case op.ctx != nil && op.ctx.Err() != nil:
		return op.end(op.ctx.Err())
	case m.ctx.Err() != nil:
		return op.end(m.ended())
	case !exists:
		return true // trimmed meanwhile
	case errors.Is(err, sdk.ErrLedgerNotFound) && op.config.SkipLostLedgers:
		return op.skipLost(err)
	case again(err) && op.tries < maxReadTries:
		op.tries++
		m.handles.drop(op.run.Ledger)
		return true
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%w: store did not answer within %s", sdk.ErrUnavailable, op.config.StoreTimeout)
	}
	if !errors.Is(err, sdk.ErrBusy) {
		m.handles.drop(op.run.Ledger)
		m.log.Warn("read failed", "ledger", op.run.Ledger, "entry", op.run.First, "error", err)
	}
	return op.end(fmt.Errorf("read ledger %d from entry %d: %w", op.run.Ledger, op.run.First, err))
}

// again says whether a failure may be one of a handle and not of the ledger.
func again(err error) bool {
	return errors.Is(err, errNoAnswer) || errors.Is(err, sdk.ErrEntryNotFound) || errors.Is(err, sdk.ErrClosed)
}

// skipLost goes on behind a ledger that the store has lost. All cursors leave it
// behind.
func (op *readOp) skipLost(cause error) (more bool) {
	m := op.r.m
	if len(op.entries) > 0 {
		return op.end(nil) // so that the next read can say what is gone
	}
	m.log.Error("a ledger is lost, readers go on behind it", "ledger", op.run.Ledger, "entries", op.last+1, "error", cause)
	m.cursors.lose(op.run.Ledger, op.last)
	op.pos = sdk.Position{Ledger: op.run.Ledger, Entry: op.last + 1}
	op.gone = true
	op.goneUntil, _ = m.current().start(op.pos)
	return true
}
