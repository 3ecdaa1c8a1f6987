// Package producerpb is the stored form of what a topic knows of its named
// producers. Only the engine reads and writes it.
package producerpb
