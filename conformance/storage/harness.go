package storage

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Store is what a harness opens. Ledgers or Metadata may be nil if the plugin
// does not offer that kind; its clauses are then not in question.
type Store struct {
	Plugin   sdk.Plugin
	Ledgers  sdk.LedgerStore
	Metadata sdk.MetadataStore
}

// Harness tells the suite how to get at the store under test.
type Harness struct {
	// Open opens the store that lives in dir, an empty directory the first
	// time. A store that is not durable ignores dir. The suite closes what it
	// opened, and has one store open on a directory at a time.
	Open func(dir string) (Store, error)
	// Patience is how long one clause may take before it counts as hanging;
	// 30 s if zero.
	Patience time.Duration
	// Exclude names clauses that are not run, with the reason.
	Exclude map[string]string
}

// Run runs every clause that concerns the store as a subtest.
func Run(t *testing.T, h Harness) {
	t.Helper()
	offered, err := h.offers(t.TempDir())
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	for _, clause := range Clauses() {
		if !clause.concerns(offered) {
			continue
		}
		t.Run(clause.ID, func(t *testing.T) {
			if reason, excluded := h.Exclude[clause.ID]; excluded {
				t.Skipf("excluded: %s", reason)
			}
			result := h.Check(clause, t.TempDir())
			for _, line := range result.Problems {
				t.Errorf("%s\n\tclause %s: %s", line, clause.ID, clause.Sentence)
			}
		})
	}
}

// offers opens the store once to see which kinds it is.
func (h Harness) offers(dir string) (Store, error) {
	store, err := h.Open(dir)
	if err != nil {
		return Store{}, err
	}
	ctx, cancel := deadline(h.patience())
	defer cancel()
	return store, store.Plugin.Close(ctx)
}

func (h Harness) patience() time.Duration {
	if h.Patience > 0 {
		return h.Patience
	}
	return 30 * time.Second
}

// Result is what came of one clause.
type Result struct {
	Clause   Clause
	Problems []string // empty: the clause holds
	Took     time.Duration
}

// Check runs one clause on a new store in dir, which must be an empty
// directory. A check that hangs is a problem of the clause; its goroutine is
// then left behind.
func (h Harness) Check(clause Clause, dir string) Result {
	began := time.Now()
	p := newProbe(h, dir)
	defer p.cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.run(clause.Check)
	}()
	select {
	case <-ended:
	case <-time.After(h.patience() + h.patience()/2):
		p.Errorf("hangs: not ended after %v, although its context ended", h.patience())
	}
	return Result{Clause: clause, Problems: p.problems(), Took: time.Since(began)}
}

// String says in one line what came of the clause.
func (r Result) String() string {
	if len(r.Problems) == 0 {
		return fmt.Sprintf("holds   %s", r.Clause.ID)
	}
	return fmt.Sprintf("broken  %s: %s", r.Clause.ID, r.Problems[0])
}
