// Package wire holds what the two ends of the public API must agree on beyond
// its messages: how connections are kept alive, how large a message may be, and
// how an error crosses.
//
// # Errors
//
// A failed call carries a canonical code, a message for people, and one
// google.rpc.ErrorInfo whose reason is one of package sdk/reason and whose
// domain is [Domain]. A server makes it with [Status]; a client turns it back
// with [Error], after which errors.Is with the sentinels of packages sdk and
// sdk/reason says the same as at the server.
package wire
