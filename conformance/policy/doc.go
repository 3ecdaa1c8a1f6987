// Package policy is the contract of read-completion policies, executable: a
// table of clauses, each with an id, the sentence that it checks, and the check.
//
// The tests of a policy of your own call [Run]. [Clauses] is what it is made
// of, for another door to the same table: a check returns an error that says
// what is wrong, and is not tied to package testing.
//
// A policy cannot make the engine unsafe, as the engine clamps every answer.
// It can still stop a reader or never let it have its entries; that is what is
// checked here, without an engine's help.
package policy

import (
	"testing"

	"github.com/tidemark-engine/tidemark/readpolicies"
)

// Clause is one sentence of the contract.
type Clause struct {
	// ID is the clause's name: what it is about, then what is said of it.
	ID string
	// Sentence is what the contract says.
	Sentence string
	// Check returns what breaks the sentence, or nil.
	Check func(readpolicies.Policy) error
}

// Run checks all clauses against a policy, each as a subtest.
func Run(t *testing.T, p readpolicies.Policy) {
	t.Helper()
	for _, c := range Clauses() {
		t.Run(c.ID, func(t *testing.T) {
			if err := c.Check(p); err != nil {
				t.Errorf("broken: %s\n%v", c.Sentence, err)
			}
		})
	}
}
