package pebble

import (
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// errBroken is what every change fails with after the first failure.
var errBroken = errors.New("an earlier write failed, the database is opened again")

// failedPause slows Pebble down, which tries again and again to flush its table
// in memory to a disk that fails or has no room.
const failedPause = 100 * time.Millisecond

// guard is the file system of one opening of the database.
//
// Pebble takes a failed write of its log for the end of the process: it panics
// with locks held, or worse, unlocks twice, which nobody can catch. So it does
// not see such failures. The first failed change of a log file or of a
// directory breaks the guard: from then on the log takes what it is given and
// keeps nothing, and every other change fails. Nothing is acknowledged after
// that: the committer looks at the guard after each sync, calls the outcome of
// the group unknown, closes the database and opens it again, which tells what
// the log really holds.
//
// While Pebble opens, it tries for ever to write out what it read from the log.
// So then any failed change breaks the guard, and all changes, not only those
// of the log, are made to nothing: the opening ends, and is thrown away.
//
// A write that finds no room is tried again after the reserve of the volume
// was released.
type guard struct {
	vfs.FS
	volume *volume
	// tell is called once, when the guard breaks, on the failing goroutine.
	tell func()

	opened atomic.Bool // Pebble is open

	once    sync.Once
	broken  chan struct{} // closed when the guard breaks
	cause   error         // why; read it after broken is closed
	pretend bool          // it broke while Pebble was opening; as cause
}

func newGuard(fs vfs.FS, v *volume, tell func()) *guard {
	return &guard{FS: fs, volume: v, tell: tell, broken: make(chan struct{})}
}

// breakWith breaks the guard; the first cause stays.
func (g *guard) breakWith(cause error) {
	g.once.Do(func() {
		g.cause, g.pretend = cause, !g.opened.Load()
		close(g.broken)
		g.tell()
	})
}

// err returns why the guard is broken, or nil.
func (g *guard) err() error {
	select {
	case <-g.broken:
		return g.cause
	default:
		return nil
	}
}

// refusal returns what a change other than one of the log is answered with
// after the guard broke, and whether it did.
func (g *guard) refusal() (answer error, broken bool) {
	switch {
	case g.err() == nil:
		return nil, false
	case g.pretend:
		return nil, true
	default:
		return errBroken, true
	}
}

// attempt does a change, a second time if there was no room and now is.
func (g *guard) attempt(do func() error) error {
	before := g.volume.releases()
	err := do()
	if isFull(err) && g.volume.makeRoom(before) {
		err = do()
	}
	return err
}

// change does a change other than one of the log.
func (g *guard) change(do func() error) error {
	if answer, broken := g.refusal(); broken {
		return answer
	}
	err := g.attempt(do)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return err
	}
	if !g.opened.Load() {
		g.breakWith(err)
		return nil
	}
	g.pause()
	return err
}

// pause lasts until failedPause has passed or the guard breaks.
func (g *guard) pause() {
	pause := time.NewTimer(failedPause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-g.broken:
	}
}

// changeLog does a change of the log. It never fails: see guard. It reports
// whether the change was made.
func (g *guard) changeLog(do func() error) bool {
	if g.err() != nil {
		return false
	}
	if err := g.attempt(do); err != nil {
		g.breakWith(err)
		return false
	}
	return true
}

func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// Create implements [vfs.FS].
func (g *guard) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return g.open(name, func() (vfs.File, error) { return g.FS.Create(name, category) })
}

// ReuseForWrite implements [vfs.FS].
func (g *guard) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return g.open(name, func() (vfs.File, error) { return g.FS.ReuseForWrite(old, name, category) })
}

// OpenReadWrite implements [vfs.FS].
func (g *guard) OpenReadWrite(name string, category vfs.DiskWriteCategory, options ...vfs.OpenOption) (vfs.File, error) {
	return g.open(name, func() (vfs.File, error) { return g.FS.OpenReadWrite(name, category, options...) })
}

// open opens a file for writing.
func (g *guard) open(name string, open func() (vfs.File, error)) (vfs.File, error) {
	var f vfs.File
	do := func() (err error) {
		f, err = open()
		return err
	}
	if isLog(name) {
		g.changeLog(do)
		return &logFile{File: f, guard: g}, nil
	}
	if err := g.change(do); err != nil {
		return nil, err
	}
	if f == nil { // It was only pretended.
		return &logFile{guard: g}, nil
	}
	return &guardedFile{File: f, guard: g}, nil
}

// OpenDir implements [vfs.FS].
func (g *guard) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &guardedDir{File: f, guard: g}, nil
}

// Rename implements [vfs.FS].
func (g *guard) Rename(from, to string) error {
	return g.change(func() error { return g.FS.Rename(from, to) })
}

// Link implements [vfs.FS].
func (g *guard) Link(from, to string) error {
	return g.change(func() error { return g.FS.Link(from, to) })
}

// Remove implements [vfs.FS].
func (g *guard) Remove(name string) error {
	return g.change(func() error { return g.FS.Remove(name) })
}

// RemoveAll implements [vfs.FS].
func (g *guard) RemoveAll(name string) error {
	return g.change(func() error { return g.FS.RemoveAll(name) })
}

// MkdirAll implements [vfs.FS].
func (g *guard) MkdirAll(name string, mode os.FileMode) error {
	return g.change(func() error { return g.FS.MkdirAll(name, mode) })
}

// Unwrap implements [vfs.FS].
func (g *guard) Unwrap() vfs.FS { return g.FS }
