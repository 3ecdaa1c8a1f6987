// Package grid is the edge cases of reading, executable: each of them under
// every read-completion policy, submission strategy, completion placement and
// store, with the entry cache on and off. What a reader gets in the end must be
// the same in all of them.
//
// Nothing runs by itself: a hand-stepped executor and a scripted store let a
// case stand between the start of a read and its end, and have entries confirmed
// there. What must hold of every read is checked at every callback, see reading.
//
// A new policy or strategy is in the grid as soon as it is in its registry.
package grid
