// Package endtoend holds the tests that drive the built binary: a daemon in a
// process of its own, clients in theirs, real text, real kills.
//
// Every test that draws at random prints its seed; TIDEMARK_SEED=N replays one
// and TIDEMARK_ROUNDS=N runs more of them.
package endtoend
