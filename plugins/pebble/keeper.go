package pebble

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-engine/tidemark/sdk"
)

const (
	// lookBytes and lookTime are after how much was written, at most, and how
	// often while the disk is full, the keeper looks how Pebble and the disk do.
	lookBytes = 8 << 20
	lookTime  = 500 * time.Millisecond
	// With so much in memory, in full tables, or so many layers of fresh table
	// files, writes wait for Pebble to catch up. It would wait itself, but with
	// locks held and until the disk has room again.
	maxMemTables = 4
	maxLayers    = 20
	behindPause  = 2 * time.Millisecond
	behindLimit  = 30 * time.Second // without any progress
	// The keeper opens a failed database again at once, and then less and less
	// often while that fails or the new one fails soon.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 30 * time.Second
	// soundAfter is how many commits make a database count as sound again.
	soundAfter = 16
)

// keeper keeps the database going: it closes one that failed and opens it
// again, without writing if the disk is full, and opens and shuts the door for
// adds. It belongs to the committer's goroutine.
type keeper struct {
	store   *Store
	guard   *guard
	reclaim reclaimer
	failure error // why nothing is written now; nil while all is well
	refusal error // why no adds are written now; nil while they are

	retryAt  time.Time
	retries  int  // since the last sound database
	commits  int  // since it was opened
	late     bool // Pebble was behind for too long
	unlooked int  // bytes written since the last look
	// lookAfter is at how many of them the next look is due.
	lookAfter int
}

// open opens the database for the first time.
func (k *keeper) open() error {
	err := k.replace(false)
	if errors.Is(err, sdk.ErrFull) && k.store.dir.state == stateReady {
		k.fail(err)
		return k.replace(true)
	}
	if err == nil && k.store.dir.state == stateNew {
		return k.store.dir.setState(stateReady)
	}
	return err
}

// replace opens the database, closing the one before.
func (k *keeper) replace(readOnly bool) error {
	s := k.store
	k.reclaim.stop()
	return s.database.replace(func() (*pebble.DB, error) {
		k.guard = newGuard(s.options.FS, &s.volume, s.in.kick)
		k.commits = 0
		return openPebble(s.dir, k.guard, s.options, readOnly)
	})
}

// alarm is when to look again although nothing is written; 0: never.
func (k *keeper) alarm() time.Duration {
	own, rooms := k.ownAlarm(), k.reclaim.alarm()
	if own == 0 || rooms > 0 && rooms < own {
		return rooms
	}
	return own
}

func (k *keeper) ownAlarm() time.Duration {
	switch {
	case k.failure != nil:
		return max(time.Until(k.retryAt), time.Millisecond)
	case k.late, k.store.volume.full.Load():
		return lookTime
	default:
		return 0
	}
}

// wrote counts what a commit wrote.
func (k *keeper) wrote(bytes int) {
	k.unlooked += bytes
	if k.commits++; k.commits == soundAfter {
		k.retries = 0
	}
}

// look does what is due, and sets the door.
func (k *keeper) look() {
	if k.failure == nil && k.guard.err() != nil {
		k.fail(k.guard.err())
	}
	if k.failure != nil && !time.Now().Before(k.retryAt) {
		if errors.Is(k.failure, sdk.ErrFull) && !k.store.volume.roomy() {
			k.retryAt = time.Now().Add(lookTime)
		} else {
			k.reopen()
		}
	}
	if k.unlooked >= k.lookAfter || k.late || k.store.volume.full.Load() {
		k.unlooked = 0
		k.store.volume.look(k.pending())
		k.waitForPebble()
	}
	if k.failure == nil {
		k.reclaim.look(k.store.volume.full.Load())
	}
	switch {
	case k.failure != nil:
		k.refusal = k.failure
	case k.late:
		k.refusal = fmt.Errorf("%w: the disk of %s has not taken for %v what was acknowledged before", sdk.ErrBusy, k.store.dir.path, behindLimit)
	default:
		k.refusal = k.store.volume.refusal()
	}
	k.store.in.setDoor(k.refusal, k.failure)
}

// waitForPebble waits while Pebble is behind with writing tables out, but not
// for a disk that is full, a database that failed, or longer than the limit.
func (k *keeper) waitForPebble() {
	since, progress := time.Now(), int64(-1)
	for k.failure == nil && k.guard.err() == nil && !k.store.volume.full.Load() {
		behind, done := k.behind()
		if !behind {
			k.late = false
			return
		}
		if done != progress {
			since, progress = time.Now(), done
		}
		if k.late || time.Since(since) > behindLimit {
			k.late = true
			return
		}
		time.Sleep(behindPause)
	}
}

// pending is what Pebble has in memory and will write out.
func (k *keeper) pending() int64 {
	if k.failure != nil {
		return 0
	}
	return int64(k.store.database.db.Metrics().MemTable.Size)
}

// behind reports whether Pebble has to catch up, and how many tables it wrote
// out so far.
func (k *keeper) behind() (behind bool, done int64) {
	m := k.store.database.db.Metrics()
	most := maxMemTables * k.store.options.MemTableBytes
	return m.MemTable.Size > most || m.Levels[0].Sublevels > maxLayers, m.Flush.Count + m.Compact.Count
}

// fail notes that the database cannot be written to.
func (k *keeper) fail(cause error) {
	kind := sdk.ErrUnavailable
	if isFull(cause) {
		kind = sdk.ErrFull
	}
	k.failure = fmt.Errorf("%w: the database in %s failed and is opened again as soon as that works: %v", kind, k.store.dir.path, cause)
	k.retryAt = time.Now()
	if k.retries > 0 {
		k.retryAt = k.retryAt.Add(min(firstRetry<<(k.retries-1), lastRetry))
	}
	k.store.options.Logger.Error("the database failed, nothing is written", "directory", k.store.dir.path, "error", cause)
}

// reopen tries to get a sound database.
func (k *keeper) reopen() {
	if k.retries < 16 {
		k.retries++
	}
	err := k.replace(false)
	if err == nil {
		k.failure, k.late = nil, false
		k.store.options.Logger.Info("the database is open again, writing goes on", "directory", k.store.dir.path)
		return
	}
	k.fail(err)
	if errors.Is(err, sdk.ErrFull) {
		if err := k.replace(true); err != nil {
			k.store.options.Logger.Error("the database cannot even be read", "directory", k.store.dir.path, "error", err)
		}
	}
}
