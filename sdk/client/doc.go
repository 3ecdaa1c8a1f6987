// Package client talks to a Tidemark daemon.
//
//	c, err := client.Dial(ctx, "localhost:7420", client.Options{})
//	p, err := c.Producer(ctx, "orders", client.ProducerOptions{})
//	receipt, err := p.Send(ctx, message.Message{Payload: []byte("first")})
//	for batch, err := range c.Reader("orders", client.ReadOptions{Follow: true}).Batches(ctx) { ... }
//
// # Producers
//
// A [Producer] gathers messages into batches by itself: it sends at once when
// nothing is on its way, and what comes meanwhile goes together. All producers
// of a client share its connections. A broken connection is made again, for as
// long as [Options.RetryFor] says, and what was not acknowledged is sent again;
// the server recognises what it has stored already, so that every message is
// stored once, also when the server was killed in between.
//
// # Readers and cursors
//
// A [Reader] leaves no trace at the server; a [Cursor] remembers there what was
// acknowledged. Both are read by ranging over batches or entries, and go on by
// themselves where they were after a broken connection.
//
// # Errors
//
// Errors are those of packages sdk and sdk/reason: errors.Is with their
// sentinels works, [sdk.ErrUnavailable] is what a server that cannot be reached
// gives.
package client
