package pebble

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-engine/tidemark/sdk"
)

// volume watches the room on the disk and keeps a part of it in reserve.
//
// When less is free than the reserve is large, beyond what Pebble has in memory
// and will write out, adds and new ledgers are refused; when a write finds no
// room at all, the reserve file is removed and the write tried once more. What
// then still has room is what frees some: deletions, acknowledgements, Pebble's
// own work. Once there is twice the reserve again, the file is made anew and
// adds go on.
type volume struct {
	fs  vfs.FS
	dir *directory
	log *slog.Logger
	// reserve is the size of the file in bytes.
	reserve int64
	// tell is called when the disk turns out to be full.
	tell func()

	full atomic.Bool // adds are refused

	mu       sync.Mutex // guards what follows; held during the file operations
	held     bool       // the reserve file is there
	released int        // how often it was removed
}

// prepare makes the reserve file at the start, if there is room for it.
func (v *volume) prepare() {
	v.mu.Lock()
	_, err := v.fs.Stat(v.dir.file(reserveFile))
	v.held = err == nil
	v.mu.Unlock()
	v.look(0)
}

// look compares what is free with the reserve. pending bytes are in memory and
// will be written.
func (v *volume) look(pending int64) {
	usage, err := v.fs.GetDiskUsage(v.dir.path)
	if err != nil {
		// Nobody knows, so the next write has to try.
		v.setFull(false, -1)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	free := int64(usage.AvailBytes) - pending
	switch {
	case free >= 2*v.reserve && !v.held:
		v.held = v.make()
		v.setFull(!v.held, free)
	case free >= 2*v.reserve:
		v.setFull(false, free)
	case free < v.reserve:
		v.setFull(true, free)
	}
}

// roomy reports whether there is more free than the reserve, or no way to tell.
func (v *volume) roomy() bool {
	usage, err := v.fs.GetDiskUsage(v.dir.path)
	return err != nil || int64(usage.AvailBytes) > v.reserve
}

func (v *volume) setFull(full bool, free int64) {
	if v.full.Swap(full) == full {
		return
	}
	if full {
		v.log.Error("the disk is full: adds are refused until there is room", "directory", v.dir.path, "free-bytes", free, "reserve-bytes", v.reserve)
	} else {
		v.log.Info("there is room again: adds go on", "directory", v.dir.path, "free-bytes", free)
	}
}

// make makes the reserve file. Call it with the mutex held.
func (v *volume) make() bool {
	name := v.dir.file(reserveFile)
	f, err := v.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return false
	}
	if err := errors.Join(f.Preallocate(0, v.reserve), f.Close()); err != nil {
		_ = v.fs.Remove(name)
		return false
	}
	return true
}

// releases returns how often the reserve was used so far.
func (v *volume) releases() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.released
}

// makeRoom is called when a write that began when there were before releases
// found no room. It reports whether it is worth trying again.
func (v *volume) makeRoom(before int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.setFull(true, 0)
	v.tell()
	if v.held && v.fs.Remove(v.dir.file(reserveFile)) == nil {
		v.held = false
		v.released++
	}
	return v.released > before
}

// refusal is what adds get while the disk is full.
func (v *volume) refusal() error {
	if !v.full.Load() {
		return nil
	}
	return fmt.Errorf("%w on the disk of %s: adds go on once there are %d bytes free", sdk.ErrFull, v.dir.path, 2*v.reserve)
}
