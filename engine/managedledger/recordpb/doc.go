// Package recordpb is the form in which managed ledgers and cursors are
// described in the metadata store.
package recordpb
