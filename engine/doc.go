// Package engine is Tidemark as a library: topics, producers, cursors and
// their life, over any store.
//
// An embedder opens a store, opens an [Engine] over it, and works with topics:
//
//	store, err := pebble.Open(dir, pebble.Options{})
//	e, err := engine.Open(ctx, engine.Settings{Ledgers: store, Metadata: store.Metadata(), Plugin: store}, engine.DefaultConfig())
//	topic, err := e.CreateTopic(ctx, "orders", engine.TopicOptions{})
//	_, err = topic.Append(ctx, message.Message{Payload: []byte("first")})
//
// No daemon, no framework and no globals are needed; several engines may live
// in one process over different stores. Who opened the store closes it, after
// the engine.
//
// # What is where
//
// Package managedledger is the log behind a topic and its cursors; this
// package adds what concerns more than one log: the registry of topics and
// their names, settings and overrides, named producers and their duplicates,
// the one maintenance goroutine, statistics, and shutdown.
//
// # Errors
//
// Every error wraps one of the sentinels of this package or of package sdk;
// package sdk/reason gives each a stable name.
package engine
