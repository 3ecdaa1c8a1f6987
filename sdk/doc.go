// Package sdk is what every part of Tidemark and every storage plugin agrees
// on: positions, the ledger store, the metadata store and the errors that are
// told apart across all borders.
//
// It imports nothing of Tidemark and no framework. A plugin author needs this
// package and, for a store that simply blocks, [Blocking].
//
// # The nouns
//
// An entry is immutable bytes with an id, dense from 0 inside its ledger. A
// ledger is an append-only sequence of entries with one writer; it is open and
// then closed for ever. Last add confirmed (LAC) is the highest entry id below
// which, itself included, everything is acknowledged. A [Position] names an
// entry over all ledgers of a log.
//
// # One memory rule
//
// Bytes handed to a store belong to the store until it acknowledges them, and
// neither side changes them: the caller may go on reading them (its cache
// does), the store may not keep them after the acknowledgement. Bytes that a
// read yields belong to the reader for good.
package sdk
