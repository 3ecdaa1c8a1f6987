// Package scripted wraps a ledger store and a metadata store so that a test
// says, call by call, what goes wrong: a call fails before anything was done, or
// was done and seems to have failed; an answer is held, lost or given twice; a
// batch is stored in part.
//
// What the script does not mention goes through unchanged. Calls that block
// wait at a gate on their own goroutine, and give up with their context;
// answers that are held (of appends and reads) are given on the goroutine that
// opens the gate, so a test with a hand-stepped executor has no goroutine but
// its own.
package scripted
