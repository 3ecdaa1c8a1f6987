package grid

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine/entrycache"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/scheduling/stepping"
	"github.com/tidemark-engine/tidemark/sdk"
)

// bed is a log under one choice, and all that moves it.
type bed struct {
	t        *testing.T
	choice   Choice
	ctx      context.Context
	steps    *stepping.Executor
	executor *hooked
	ledgers  *scripted.Ledgers
	metadata *scripted.Metadata
	cache    *entrycache.Cache
	name     string
	settings managedledger.Settings
	config   managedledger.Config

	log   *managedledger.ManagedLedger
	added int // entries, for their payloads
}

// hooked is the executor with a hook where the first lane of a reader is made:
// between its look at the log and its registration as a waiter.
type hooked struct {
	scheduling.Executor
	onLane func()
}

func (e *hooked) NewLane(name string) scheduling.Lane {
	if f := e.onLane; f != nil {
		e.onLane = nil
		f()
	}
	return e.Executor.NewLane(name)
}

// ledgerSize is how many entries make a ledger full in a bed.
const ledgerSize = 5

func newBed(t *testing.T, store Store, choice Choice) *bed {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	b := &bed{
		t: t, choice: choice, ctx: ctx,
		steps:    stepping.New(),
		ledgers:  &scripted.Ledgers{Inner: store.Ledgers},
		metadata: &scripted.Metadata{Inner: store.Metadata},
		name:     t.Name(),
		config:   managedledger.DefaultConfig(),
	}
	b.executor = &hooked{Executor: b.steps}
	var err error
	if b.cache, err = entrycache.New(b.caching(choice.Cache), b.executor); err != nil {
		t.Fatal(err)
	}
	c := &b.config
	c.ReadPolicy, c.Submission, c.Placement = choice.Policy, choice.Strategy, choice.Placement
	c.RetentionBytes, c.RetentionTime = -1, -1
	c.MaxEntriesPerLedger = ledgerSize
	b.settings = managedledger.Settings{
		Ledgers: b.ledgers, Metadata: b.metadata, Store: store.Info,
		Executor: b.executor, Cache: b.cache,
	}
	b.open()
	t.Cleanup(func() { b.leave(b.log) })
	return b
}

func (b *bed) caching(on bool) entrycache.Config {
	c := entrycache.DefaultConfig()
	if !on {
		c.MaxBytes = 0
	}
	return c
}

// open opens the log, as another owner if it is open.
func (b *bed) open() {
	b.t.Helper()
	m, err := managedledger.Open(b.ctx, b.name, b.settings, b.config, managedledger.OpenOptions{Create: true})
	if err != nil {
		b.t.Fatal(err)
	}
	b.log = m
	b.settle()
}

// leave closes a log that may have another owner.
func (b *bed) leave(m *managedledger.ManagedLedger) {
	b.drive(func() error {
		if err := m.Close(b.ctx); !errors.Is(err, sdk.ErrFenced) {
			return err
		}
		return nil
	})
}

// settle runs all that waits to run.
func (b *bed) settle() { b.steps.RunAll() }

// drive runs what waits for others on a goroutine of its own, which ends with
// it, and steps meanwhile.
func (b *bed) drive(f func() error) {
	b.t.Helper()
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = f()
	}()
	if stuck := b.steps.RunUntil(b.ctx, done); stuck != nil {
		b.t.Fatal(stuck)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.settle()
}

// add appends n entries by one add and waits until they are confirmed; the log
// may have rolled then.
func (b *bed) add(n int) []sdk.Position {
	b.t.Helper()
	var at []sdk.Position
	b.drive(func() error {
		result, err := b.log.Add(b.ctx, b.payloads(n)...)
		for _, s := range result.Spans() {
			for i := range s.Count {
				at = append(at, sdk.Position{Ledger: s.First.Ledger, Entry: s.First.Entry + sdk.EntryID(i)})
			}
		}
		return err
	})
	return at
}

// payloads returns the next n payloads: the number of each entry.
func (b *bed) payloads(n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = fmt.Append(nil, b.added)
		b.added++
	}
	return all
}

// roll closes the open ledger.
func (b *bed) roll() {
	b.t.Helper()
	b.drive(func() error { return b.log.Roll(b.ctx) })
}

// forget empties the cache, so that the next read goes to the store.
func (b *bed) forget() {
	b.t.Helper()
	for _, on := range []bool{false, b.choice.Cache} {
		if err := b.cache.Configure(b.caching(on)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// cursor opens a durable cursor at the log's start.
func (b *bed) cursor() *managedledger.Cursor {
	return b.cursorFrom(managedledger.CursorOptions{Durable: true})
}

func (b *bed) cursorFrom(o managedledger.CursorOptions) *managedledger.Cursor {
	b.t.Helper()
	c, err := b.log.OpenCursor(b.ctx, "cursor", o)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func (b *bed) acknowledge(c *managedledger.Cursor, positions ...sdk.Position) {
	b.t.Helper()
	b.drive(func() error { return c.Acknowledge(b.ctx, positions...) })
}

// holdRead holds the answer of the next storage read.
func (b *bed) holdRead() *scripted.Gate {
	gate := scripted.NewGate()
	b.ledgers.Next(scripted.Read, scripted.Step{HoldReply: gate})
	return gate
}

// reached fails unless a call waits at the gate.
func (b *bed) reached(gate *scripted.Gate) {
	b.t.Helper()
	select {
	case <-gate.Reached():
	default:
		b.t.Fatalf("no storage read was started\n%s", b.steps.Schedule())
	}
}

// extends says whether the policy has reads go on beyond the LAC that they
// began with.
func (b *bed) extends() bool { return b.choice.Policy.Name() == "extend-on-executor" }

// mustBe compares.
func mustBe[T comparable](b *bed, what string, got, want T) {
	b.t.Helper()
	if got != want {
		b.t.Fatalf("%s is %v, want %v\n%s", what, got, want, b.steps.Schedule())
	}
}
