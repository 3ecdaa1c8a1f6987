package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// incompressible returns size random bytes.
func incompressible(size int) []byte {
	source := rand.NewChaCha8([32]byte{1})
	payload := make([]byte, size)
	source.Read(payload)
	return payload
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// unsupported adds nothing: the rows over the wire wait for each entry.
func unsupported([]byte) error { return errors.ErrUnsupported }
