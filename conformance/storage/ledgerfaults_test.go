package storage_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

// onWriters puts a fault into each writer.
func onWriters(odd func(w sdk.LedgerWriter) handle) func(*faulty) {
	return func(f *faulty) { f.writer = odd }
}

// onReads puts a fault into all reads, of writers and readers.
func onReads(odd func(r sdk.LedgerReader, ctx context.Context, e sdk.Range, done func([][]byte, error))) func(*faulty) {
	return func(f *faulty) {
		f.reader = func(r sdk.LedgerReader) handle {
			return handle{read: func(ctx context.Context, e sdk.Range, done func([][]byte, error)) { odd(r, ctx, e, done) }}
		}
		f.writer = func(w sdk.LedgerWriter) handle { return f.reader(w) }
	}
}

// confusing makes one error of a store another one, wherever handles say it.
func confusing(from, to error) func(*faulty) {
	confused := func(err error) error {
		if errors.Is(err, from) {
			return to
		}
		return err
	}
	return func(f *faulty) {
		onReads(func(r sdk.LedgerReader, ctx context.Context, e sdk.Range, done func([][]byte, error)) {
			r.Read(ctx, e, func(payloads [][]byte, err error) { done(payloads, confused(err)) })
		})(f)
		reading := f.writer
		f.writer = func(w sdk.LedgerWriter) handle {
			h := reading(w)
			h.append = func(b sdk.Batch) {
				done := b.Done
				b.Done = func(last sdk.EntryID, err error) { done(last, confused(err)) }
				w.Append(b)
			}
			h.seal = func(ctx context.Context) (sdk.EntryID, error) {
				last, err := w.Seal(ctx)
				return last, confused(err)
			}
			return h
		}
	}
}

// failingAt fails the batch from entry first on, and says nothing about why.
func failingAt(first sdk.EntryID) func(*faulty) {
	return onWriters(func(w sdk.LedgerWriter) handle {
		return handle{append: func(b sdk.Batch) {
			if b.First == first {
				b.Done(first-1, errOdd)
				return
			}
			w.Append(b)
		}}
	})
}

// keeping reads from what it kept of the entries as keep made it, all readers
// from the same list.
func keeping(keep func([]byte) []byte) func(*faulty) {
	return onWriters(func(w sdk.LedgerWriter) handle {
		var kept [][]byte
		return handle{
			append: func(b sdk.Batch) {
				for _, entry := range b.Entries {
					kept = append(kept, keep(entry))
				}
				w.Append(b)
			},
			read: func(_ context.Context, e sdk.Range, done func([][]byte, error)) { done(kept[e.First:e.Last+1], nil) },
		}
	})
}

func withState(change func(own sdk.LedgerState) sdk.LedgerState) func(*faulty) {
	return func(f *faulty) {
		f.reader = func(r sdk.LedgerReader) handle {
			return handle{state: func() sdk.LedgerState { return change(r.State()) }}
		}
		f.writer = func(w sdk.LedgerWriter) handle { return f.reader(w) }
	}
}

// forgetful says that it is durable, and is not.
func forgetful(f *faulty) {
	f.info = func() sdk.Info {
		info := f.Store.Info()
		info.Durable = true
		return info
	}
}

func createFaults() map[string]func(*faulty) {
	return map[string]func(*faulty){
		"create/new-ids": onWriters(func(w sdk.LedgerWriter) handle {
			return handle{id: func() sdk.LedgerID { return -w.ID() }}
		}),
		"create/empty": withState(func(s sdk.LedgerState) sdk.LedgerState { s.LastConfirmed = 0; return s }),
		"create/labels": func(f *faulty) {
			f.create = func(ctx context.Context, _ sdk.CreateOptions) (sdk.LedgerWriter, error) {
				return f.Store.Create(ctx, sdk.CreateOptions{})
			}
		},
		"create/context": func(f *faulty) {
			f.create = func(ctx context.Context, o sdk.CreateOptions) (sdk.LedgerWriter, error) {
				return f.Store.Create(context.WithoutCancel(ctx), o)
			}
		},
	}
}

func appendFaults() map[string]func(*faulty) {
	all := refusalFaults()
	all["append/read-back"] = keeping(func(entry []byte) []byte { return bytes.Clone(entry[:min(len(entry), 100)]) })
	all["append/pipelined"] = onWriters(func(w sdk.LedgerWriter) handle {
		return handle{append: func(b sdk.Batch) {
			done := b.Done
			b.Done = func(last sdk.EntryID, err error) { done(last, err); done(last, err) }
			w.Append(b)
		}}
	})
	all["append/many-ledgers"] = func(f *faulty) {
		var first sdk.LedgerReader
		onReads(func(r sdk.LedgerReader, ctx context.Context, e sdk.Range, done func([][]byte, error)) {
			if first == nil {
				first = r
			}
			first.Read(ctx, e, done)
		})(f)
	}
	all["append/bytes-are-the-callers-again"] = keeping(func(entry []byte) []byte { return entry })
	all["append/visible"] = func(f *faulty) {
		f.reader = func(r sdk.LedgerReader) handle {
			then := r.State().LastConfirmed
			return handle{read: func(ctx context.Context, e sdk.Range, done func([][]byte, error)) {
				if err := e.Within(then); err != nil {
					done(nil, err)
					return
				}
				r.Read(ctx, e, done)
			}}
		}
	}
	all["append/durable"] = forgetful
	return all
}

func refusalFaults() map[string]func(*faulty) {
	return map[string]func(*faulty){
		"append/gap": onWriters(func(w sdk.LedgerWriter) handle {
			return handle{append: func(b sdk.Batch) { // takes it as what follows
				done := b.Done
				b.First, b.Done = w.State().LastConfirmed+1, func(_ sdk.EntryID, err error) { done(b.Last(), err) }
				w.Append(b)
			}}
		}),
		"append/empty-batch": onWriters(func(w sdk.LedgerWriter) handle {
			return handle{append: func(b sdk.Batch) {
				if len(b.Entries) == 0 {
					b.Done(b.Last(), nil)
					return
				}
				w.Append(b)
			}}
		}),
		"append/too-large": func(f *faulty) {
			f.info = func() sdk.Info {
				info := f.Store.Info()
				info.MaxEntryBytes = 100
				return info
			}
		},
		"append/after-failure": onWriters(func(w sdk.LedgerWriter) handle {
			return handle{append: func(b sdk.Batch) { // forgets a failure at once
				if err := b.Validate(w.State().LastConfirmed + 1); err != nil {
					b.Done(b.First-1, err)
					return
				}
				w.Append(b)
			}}
		}),
		"append/failure-in-order": onWriters(func(w sdk.LedgerWriter) handle {
			var held []func() // answers that wait while all is well
			return handle{append: func(b sdk.Batch) {
				done := b.Done
				b.Done = func(last sdk.EntryID, err error) {
					held = append(held, func() { done(last, err) })
					if err != nil {
						slices.Reverse(held)
						for _, answer := range held {
							answer()
						}
						held = nil
					}
				}
				w.Append(b)
			}}
		}),
		"append/after-seal":         confusing(sdk.ErrClosed, sdk.ErrFenced),
		"append/after-handle-close": confusing(sdk.ErrClosed, sdk.ErrFenced),
	}
}

func sealFaults() map[string]func(*faulty) {
	sealing := func(odd func(w sdk.LedgerWriter, ctx context.Context) (sdk.EntryID, error)) func(*faulty) {
		return onWriters(func(w sdk.LedgerWriter) handle {
			return handle{seal: func(ctx context.Context) (sdk.EntryID, error) { return odd(w, ctx) }}
		})
	}
	return map[string]func(*faulty){
		"seal/last-entry": sealing(func(w sdk.LedgerWriter, ctx context.Context) (sdk.EntryID, error) {
			last, err := w.Seal(ctx)
			return last + 1, err
		}),
		"seal/waits": onWriters(func(w sdk.LedgerWriter) handle {
			return handle{append: func(b sdk.Batch) {
				b.Done = func(sdk.EntryID, error) {} // answers later than the clause looks
				w.Append(b)
			}}
		}),
		"seal/twice": sealing(func(w sdk.LedgerWriter, ctx context.Context) (sdk.EntryID, error) {
			if w.State().Closed {
				return sdk.NoEntry, sdk.ErrClosed
			}
			return w.Seal(ctx)
		}),
		"seal/goes-on-reading": onReads(func(r sdk.LedgerReader, ctx context.Context, e sdk.Range, done func([][]byte, error)) {
			if r.State().Closed {
				done(nil, sdk.ErrClosed)
				return
			}
			r.Read(ctx, e, done)
		}),
		"seal/fenced": sealing(func(w sdk.LedgerWriter, ctx context.Context) (sdk.EntryID, error) {
			last, err := w.Seal(ctx)
			if errors.Is(err, sdk.ErrFenced) {
				return w.State().LastConfirmed, nil
			}
			return last, err
		}),
		"seal/for-ever": func(f *faulty) {
			f.reader = func(r sdk.LedgerReader) handle { // recovery finds one more
				return handle{state: func() sdk.LedgerState { s := r.State(); s.LastConfirmed++; return s }}
			}
		},
		"seal/context": sealing(func(w sdk.LedgerWriter, ctx context.Context) (sdk.EntryID, error) {
			return w.Seal(context.WithoutCancel(ctx))
		}),
	}
}

func openFaults() map[string]func(*faulty) {
	always := func(mode sdk.OpenMode) func(*faulty) {
		return func(f *faulty) {
			f.open = func(ctx context.Context, id sdk.LedgerID, _ sdk.OpenMode) (sdk.LedgerReader, error) {
				return f.Store.Open(ctx, id, mode)
			}
		}
	}
	return map[string]func(*faulty){
		"open/not-found": func(f *faulty) {
			f.open = func(context.Context, sdk.LedgerID, sdk.OpenMode) (sdk.LedgerReader, error) {
				return nil, sdk.ErrUnavailable
			}
		},
		"open/read-changes-nothing": always(sdk.OpenRecover),
		"open/recover-closes":       always(sdk.OpenRead),
		"open/recover-after-close":  always(sdk.OpenRead),
		"open/recover-repeated": func(f *faulty) {
			var recovered sync.Map
			f.open = func(ctx context.Context, id sdk.LedgerID, mode sdk.OpenMode) (sdk.LedgerReader, error) {
				if _, before := recovered.LoadOrStore(id, true); before && mode == sdk.OpenRecover {
					return nil, sdk.ErrFenced
				}
				return f.Store.Open(ctx, id, mode)
			}
		},
		"open/context": func(f *faulty) {
			f.open = func(ctx context.Context, id sdk.LedgerID, mode sdk.OpenMode) (sdk.LedgerReader, error) {
				return f.Store.Open(context.WithoutCancel(ctx), id, mode)
			}
		},
		"fence/later-adds":     always(sdk.OpenRead),
		"fence/adds-in-flight": failingAt(150),
		"fence/new-ledger": func(f *faulty) {
			f.open = func(ctx context.Context, id sdk.LedgerID, mode sdk.OpenMode) (sdk.LedgerReader, error) {
				if mode == sdk.OpenRecover {
					_, _ = f.Store.Open(ctx, id+1, mode)
				}
				return f.Store.Open(ctx, id, mode)
			}
		},
	}
}

func deleteFaults() map[string]func(*faulty) {
	idle := func(f *faulty) {
		f.delete = func(context.Context, sdk.LedgerID) error { return nil }
	}
	return map[string]func(*faulty){
		"delete/gone":    idle,
		"delete/writer":  idle,
		"delete/readers": confusing(sdk.ErrLedgerNotFound, sdk.ErrUnavailable),
		"delete/others-stay": func(f *faulty) {
			f.delete = func(ctx context.Context, id sdk.LedgerID) error {
				return errors.Join(f.Store.Delete(ctx, id), f.Store.Delete(ctx, id+1))
			}
		},
		"delete/context": func(f *faulty) {
			f.delete = func(ctx context.Context, id sdk.LedgerID) error {
				return f.Store.Delete(context.WithoutCancel(ctx), id)
			}
		},
		"list/pages": func(f *faulty) {
			f.list = func(ctx context.Context, after sdk.LedgerID, limit int) ([]sdk.LedgerID, error) {
				ids, err := f.Store.List(ctx, after, limit)
				slices.Reverse(ids)
				return ids, err
			}
		},
		"list/limit": func(f *faulty) {
			f.list = func(ctx context.Context, after sdk.LedgerID, limit int) ([]sdk.LedgerID, error) {
				return f.Store.List(ctx, after, max(limit, 1))
			}
		},
		"list/context": func(f *faulty) {
			f.list = func(_ context.Context, after sdk.LedgerID, limit int) ([]sdk.LedgerID, error) {
				return f.Store.List(context.Background(), after, limit)
			}
		},
	}
}

func readFaults() map[string]func(*faulty) {
	asking := func(change func(e sdk.Range) sdk.Range) func(*faulty) {
		return onReads(func(r sdk.LedgerReader, ctx context.Context, e sdk.Range, done func([][]byte, error)) {
			r.Read(ctx, change(e), done)
		})
	}
	return map[string]func(*faulty){
		"read/ranges": onReads(func(r sdk.LedgerReader, ctx context.Context, e sdk.Range, done func([][]byte, error)) {
			r.Read(ctx, e, func(payloads [][]byte, err error) {
				slices.Reverse(payloads)
				done(payloads, err)
			})
		}),
		"read/once": onReads(func(r sdk.LedgerReader, ctx context.Context, e sdk.Range, done func([][]byte, error)) {
			r.Read(ctx, e, func(payloads [][]byte, err error) {
				done(payloads, err)
				done(payloads, err)
			})
		}),
		"read/max-bytes": asking(func(e sdk.Range) sdk.Range { e.MaxBytes = 0; return e }),
		"read/beyond":    confusing(sdk.ErrEntryNotFound, sdk.ErrUnavailable),
		"read/invalid":   asking(func(e sdk.Range) sdk.Range { e.First, e.Last, e.MaxBytes = 0, 1, 0; return e }),
		"read/context": onReads(func(r sdk.LedgerReader, ctx context.Context, e sdk.Range, done func([][]byte, error)) {
			r.Read(context.WithoutCancel(ctx), e, done)
		}),
		"read/list-is-the-readers": keeping(bytes.Clone),
		"read/beside-the-writer":   backAndForth,
		"read/not-acknowledged": withState(func(s sdk.LedgerState) sdk.LedgerState {
			s.LastConfirmed = sdk.NoEntry
			return s
		}),
		"handle/id": func(f *faulty) {
			f.reader = func(r sdk.LedgerReader) handle {
				return handle{id: func() sdk.LedgerID { return r.ID() + 1 }}
			}
		},
		"handle/close": func(f *faulty) {
			f.reader = func(sdk.LedgerReader) handle {
				return handle{close: func() error { return nil }}
			}
		},
	}
}

// backAndForth has readers whose state goes back. Its writer waits in the middle
// until they have looked.
func backAndForth(f *faulty) {
	var mu sync.Mutex // guards looks
	looks := 0
	looked := make(chan struct{})
	f.reader = func(r sdk.LedgerReader) handle {
		back := false // a reader is looked at by one goroutine
		return handle{state: func() sdk.LedgerState {
			s := r.State()
			if back = !back; !back {
				s.LastConfirmed = sdk.NoEntry
			}
			if s.LastConfirmed != sdk.NoEntry {
				mu.Lock()
				if looks++; looks == 10 {
					close(looked)
				}
				mu.Unlock()
			}
			return s
		}}
	}
	f.writer = func(w sdk.LedgerWriter) handle {
		return handle{append: func(b sdk.Batch) {
			if b.First == 1000 {
				select {
				case <-looked:
				case <-time.After(100 * time.Millisecond): // they gave up at the first step back
				}
			}
			w.Append(b)
		}}
	}
}
