// Command engine is Tidemark: the daemon and everything that is done with it
// from a command line.
//
//	engine serve --data ./data
//	engine topic create demo
//	engine produce demo < access.log
//	engine read demo --cursor billing
//
// # Exit codes
//
//	0  success
//	1  failure: what was asked could not be done; the message says why
//	2  usage: a flag, argument, name or setting, or the configuration, is wrong
//	3  not found: the topic or cursor does not exist
//	4  unavailable: the server cannot be reached or cannot serve now; trying
//	   again later may help
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ()})
	os.Exit(code)
}
