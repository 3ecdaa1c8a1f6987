package storage_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/storage"
)

// errOdd is an error that says nothing.
var errOdd = errors.New("odd")

// brokenStores has, for each clause, a fault that breaks it.
func brokenStores() map[string]func(*faulty) {
	all := map[string]func(*faulty){}
	for _, part := range []map[string]func(*faulty){
		pluginFaults(), createFaults(), appendFaults(), sealFaults(), openFaults(), deleteFaults(), readFaults(), metadataFaults(),
	} {
		maps.Copy(all, part)
	}
	return all
}

// TestEveryClauseBites runs each clause on a store that breaks it: a clause that
// nothing can break checks nothing.
func TestEveryClauseBites(t *testing.T) {
	faults := brokenStores()
	for _, clause := range storage.Clauses() {
		fault, there := faults[clause.ID]
		delete(faults, clause.ID)
		if !there {
			t.Errorf("%s: no broken store shows that it bites", clause.ID)
			continue
		}
		t.Run(clause.ID, func(t *testing.T) {
			result := storage.Harness{Open: broken(fault)}.Check(clause, t.TempDir())
			switch {
			case len(result.Problems) == 0:
				t.Errorf("a store that breaks it passes: %s", clause.Sentence)
			case strings.HasPrefix(result.Problems[0], "hangs"):
				t.Errorf("the clause does not say what is wrong: %s", result.Problems[0])
			default:
				t.Log(result.Problems[0])
			}
		})
	}
	for id := range faults {
		t.Errorf("%s: a broken store for a clause that is not there", id)
	}
}
