// Package scheduling decides where work runs: on which goroutine, in which
// order, and bounded by what.
//
// Three places exist. A [Lane] is a serial queue of short tasks with one
// owner at a time; each managed ledger has one, and so has each cursor that
// waits. [Executor.Go] runs work that may block (a sync, a plugin call, a
// store read) on a pooled goroutine. And there is the caller itself. A
// [Strategy] picks between them for the start of a storage read.
//
// The package imports nothing of Tidemark, and ants appears in one file.
package scheduling
