package pebble

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-engine/tidemark/sdk"
)

// What lies in the directory besides Pebble's own files.
const (
	formatFile  = "TIDEMARK" // whose directory this is, and its format
	ownerFile   = "OWNER"    // who has it open
	reserveFile = "RESERVE"  // see volume
	lockFile    = "LOCK"     // Pebble's name for the locked file
)

// format is the version of what this package stores. An older program refuses
// a newer format.
const format = 1

// A directory is new until Pebble was opened in it once. A new one may hold
// anything of a first start that was cut off; one that is ready must hold a
// database.
const (
	stateNew   = "new"
	stateReady = "ready"
)

// directory is the locked directory of a store.
type directory struct {
	fs    vfs.FS
	path  string
	lock  *pebble.Lock
	state string
}

// openDirectory makes and locks the directory, if it is ours to use.
func openDirectory(fs vfs.FS, path string) (*directory, error) {
	path, err := makeDirectory(fs, path)
	if err != nil {
		return nil, err
	}
	d := &directory{fs: fs, path: path}
	if err := d.examine(); err != nil {
		return nil, err
	}
	if d.lock, err = pebble.LockDirectory(path, fs); err != nil {
		if inUse(err) {
			err = fmt.Errorf("%w: the directory is in use by %s; only one process may have it open", sdk.ErrUnavailable, d.owner())
		}
		return nil, err
	}
	if err := d.own(); err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	return d, nil
}

// makeDirectory returns the one name of the directory, so that opening it twice
// is noticed however it is spelled.
func makeDirectory(fs vfs.FS, path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := fs.MkdirAll(path, 0o750); err != nil {
		return "", writeFailure(err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path, nil
}

// own is called with the lock held.
func (d *directory) own() error {
	if err := d.examine(); err != nil { // Somebody may have been first.
		return err
	}
	if d.state == "" {
		if err := d.setState(stateNew); err != nil {
			return err
		}
	}
	host, _ := os.Hostname()
	owner := fmt.Sprintf("process %d on %s, since %s\n", os.Getpid(), host, time.Now().Format(time.RFC3339))
	// Only for people, and not worth failing for on a full disk.
	_ = d.write(ownerFile, owner)
	return nil
}

// close gives the directory up.
func (d *directory) close() error {
	_ = d.fs.Remove(d.file(ownerFile)) // Only for people.
	return d.lock.Close()
}

func (d *directory) file(name string) string { return d.fs.PathJoin(d.path, name) }

// examine reads the format and refuses what is not ours.
func (d *directory) examine() error {
	text, err := d.read(formatFile)
	if errors.Is(err, os.ErrNotExist) {
		d.state = ""
		return d.refuseForeign()
	}
	if err != nil {
		return err
	}
	var found int
	if _, err := fmt.Sscanf(text, "tidemark pebble store, format %d, %s\n", &found, &d.state); err != nil {
		return fmt.Errorf("%w: %s does not say which format the directory has: %.60q", sdk.ErrCorrupt, d.file(formatFile), text)
	}
	if found > format {
		return fmt.Errorf("%w: the directory has format %d, written by a newer version; this version knows formats up to %d", sdk.ErrUnsupported, found, format)
	}
	return nil
}

func (d *directory) refuseForeign() error {
	names, err := d.fs.List(d.path)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		switch name {
		case lockFile, ownerFile, reserveFile, formatFile + ".new", "lost+found":
		default:
			return fmt.Errorf("%w: the directory is not a store and not empty, it holds %q; give an empty or a new one", sdk.ErrInvalid, name)
		}
	}
	return nil
}

// setState writes the format file, durably and as a whole.
func (d *directory) setState(state string) error {
	if err := d.write(formatFile+".new", fmt.Sprintf("tidemark pebble store, format %d, %s\n", format, state)); err != nil {
		return writeFailure(err)
	}
	if err := d.fs.Rename(d.file(formatFile+".new"), d.file(formatFile)); err != nil {
		return writeFailure(err)
	}
	if err := d.sync(); err != nil {
		return writeFailure(err)
	}
	d.state = state
	return nil
}

func (d *directory) sync() error {
	dir, err := d.fs.OpenDir(d.path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (d *directory) write(name, text string) error {
	f, err := d.fs.Create(d.file(name), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	return errors.Join(err, f.Sync(), f.Close())
}

func (d *directory) read(name string) (string, error) {
	f, err := d.fs.Open(d.file(name))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, 4<<10))
	return string(text), errors.Join(err, f.Close())
}

// owner says who has the directory open.
func (d *directory) owner() string {
	text, err := d.read(ownerFile)
	if text = strings.TrimSpace(text); err != nil || text == "" {
		return "another process"
	}
	return text
}

// inUse tells a lock that somebody holds from one that cannot be taken for
// another reason. Pebble's file systems have no sentinel for the case that it
// is this process.
func inUse(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) ||
		strings.Contains(err.Error(), "lock held by current process")
}

// writeFailure says what a failed write to the disk means.
func writeFailure(err error) error {
	if isFull(err) {
		return fmt.Errorf("%w: %w", sdk.ErrFull, err)
	}
	return fmt.Errorf("%w: %w", sdk.ErrUnavailable, err)
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
