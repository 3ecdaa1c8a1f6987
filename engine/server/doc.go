// Package server offers an engine to the outside: gRPC for programs, HTTP with
// JSON and text for people with curl, metrics and health.
//
// # Streams
//
// Producing and reading are streams of packed batches. A produce stream is two
// goroutines: one receives frames and hands them to the engine without waiting,
// one sends what was answered, as much as gathered while the frame before went
// out. A read stream is one goroutine that pulls from the log what the client
// can take; so a client that does not read costs two small frames and no work.
//
// # The end
//
// Close stops accepting, tells every reader where to go on, answers what
// producers sent, and returns within its context.
package server
