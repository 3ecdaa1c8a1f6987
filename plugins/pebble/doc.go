// Package pebble is the embedded store: ledgers and metadata in one Pebble
// database in one directory, durable before anything is acknowledged.
//
// # How entries lie
//
// Entries are kept as blocks: one key holds a run of consecutive entries of
// one ledger, as they came together in one commit, at most about 64 KiB. The
// key is the ledger and the LAST entry of the run, so that one forward seek
// finds the block of any entry. A block carries its own checksum, over its key
// too, the number of its entries and the bytes of the ledger so far; recovery
// of a ledger reads its last block only.
//
// # How they get there
//
// One committer goroutine takes what all writers have handed over, makes one
// Pebble batch of it, syncs once and tells everybody; meanwhile the next group
// gathers. Metadata writes travel in the same groups.
//
// # A full or failing disk
//
// A volume keeps a reserve and shuts the door for adds in time (volume.go). A
// guard keeps failures of the log from Pebble, which would end the process
// (guard.go). A keeper opens a database that failed again (keeper.go). What
// Pebble takes on trust when it opens is examined before (examine.go).
package pebble
