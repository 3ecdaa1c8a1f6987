// Package reason gives every error that Tidemark tells apart a name that
// survives a wire: TOPIC_NOT_FOUND, FENCED, TOO_LARGE.
//
// A server finds the name with [Of] and sends it beside the message; a client
// makes an error of both with [Error]. errors.Is with the sentinel then says
// the same on both sides. One table, in this package, pairs sentinels and
// reasons.
//
// The sentinels of stores are those of package sdk. Those of topics, cursors
// and producers are here, because engine and client both need them.
package reason
