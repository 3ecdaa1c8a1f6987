package managedledger

import "context"

// Read reads on from the cursor's place what is readable now and not
// acknowledged; an empty result means that there is nothing. One read at a time:
// a second one is reason.ErrReadInFlight. It may use the calling goroutine for
// as long as the store takes. If ctx ends first the cursor stays where it was.
func (c *Cursor) Read(ctx context.Context, max Max) (ReadResult, error) {
	return c.readHere(ctx, max, ReadOptions{})
}

// ReadOrWait is Read that waits until there is something to read. When the log
// was terminated and read to its end the error is reason.ErrNoMoreEntries.
func (c *Cursor) ReadOrWait(ctx context.Context, max Max) (ReadResult, error) {
	return c.readHere(ctx, max, ReadOptions{Wait: true})
}

// ReadAsync starts a read and does not wait. If it returns an error, done is
// never called. Otherwise done is called once, under no lock, where the
// completion placement says: possibly before ReadAsync returns, at most
// scheduling.MaxInlineNesting deep. It may start the next read. A failure is
// told where it happens. When the cursor is moved before done is called, the
// read begins again at the new place.
func (c *Cursor) ReadAsync(max Max, o ReadOptions, done func(ReadResult, error)) error {
	return c.readAsync(max, o, done)
}

// CancelWait takes back a read that waits for entries. True means that its done
// is never called. False means that no read waits; if one is in flight its done
// is called, or was, and it does not begin to wait.
func (c *Cursor) CancelWait() bool { return c.cancelWait() }
