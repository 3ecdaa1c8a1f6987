package pebble

import (
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guardedFile is any file but a log.
type guardedFile struct {
	vfs.File
	guard *guard
}

// Write implements [vfs.File].
func (f *guardedFile) Write(p []byte) (written int, err error) {
	err = f.guard.change(func() error {
		n, err := f.File.Write(p[written:])
		written += n
		return err
	})
	if err == nil {
		written = len(p) // Perhaps only pretended.
	}
	return written, err
}

// WriteAt implements [vfs.File].
func (f *guardedFile) WriteAt(p []byte, at int64) (written int, err error) {
	err = f.guard.change(func() error {
		n, err := f.File.WriteAt(p[written:], at+int64(written))
		written += n
		return err
	})
	if err == nil {
		written = len(p)
	}
	return written, err
}

// Preallocate implements [vfs.File].
func (f *guardedFile) Preallocate(offset, length int64) error {
	return f.guard.change(func() error { return f.File.Preallocate(offset, length) })
}

// Sync implements [vfs.File]. A sync that failed is not tried again: the system
// may have dropped what it could not write, and would then report success.
func (f *guardedFile) Sync() error { return f.once(f.File.Sync) }

// SyncData implements [vfs.File].
func (f *guardedFile) SyncData() error { return f.once(f.File.SyncData) }

// SyncTo implements [vfs.File].
func (f *guardedFile) SyncTo(length int64) (full bool, err error) {
	err = f.once(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

func (f *guardedFile) once(do func() error) error {
	if answer, broken := f.guard.refusal(); broken {
		return answer
	}
	err := do()
	if err != nil && !f.guard.opened.Load() {
		f.guard.breakWith(err)
		return nil
	}
	return err
}

// guardedDir is a directory; a failed sync of it breaks the guard.
type guardedDir struct {
	vfs.File
	guard *guard
}

// Sync implements [vfs.File].
func (d *guardedDir) Sync() error {
	if err := d.guard.err(); err != nil {
		return nil
	}
	if err := d.File.Sync(); err != nil {
		d.guard.breakWith(err)
	}
	return nil
}

// logFile is a file of Pebble's log, or one that is only pretended to be there.
// None of its changes fails; after the guard broke they do nothing. File is nil
// if it could not even be made.
type logFile struct {
	vfs.File
	guard *guard
}

// Write implements [vfs.File].
func (f *logFile) Write(p []byte) (int, error) {
	written := 0
	f.guard.changeLog(func() error {
		n, err := f.File.Write(p[written:])
		written += n
		return err
	})
	return len(p), nil
}

// Read implements [vfs.File].
func (f *logFile) Read(p []byte) (int, error) {
	if f.File == nil {
		return 0, errBroken
	}
	return f.File.Read(p)
}

// ReadAt implements [vfs.File].
func (f *logFile) ReadAt(p []byte, at int64) (int, error) {
	if f.File == nil {
		return 0, errBroken
	}
	return f.File.ReadAt(p, at)
}

// WriteAt implements [vfs.File]. Pebble does not write its log like that.
func (f *logFile) WriteAt(p []byte, _ int64) (int, error) { return f.Write(p) }

// Prefetch implements [vfs.File].
func (f *logFile) Prefetch(offset, length int64) error {
	if f.File == nil {
		return nil
	}
	return f.File.Prefetch(offset, length)
}

// Preallocate implements [vfs.File]. Room that was reserved and not written
// makes syncs slower, not faster; what makes them faster is that Pebble uses
// old log files again.
func (f *logFile) Preallocate(int64, int64) error { return nil }

// Sync implements [vfs.File].
func (f *logFile) Sync() error {
	f.sync(func() error { return f.File.Sync() })
	return nil
}

// SyncData implements [vfs.File].
func (f *logFile) SyncData() error {
	f.sync(func() error { return f.File.SyncData() })
	return nil
}

// SyncTo implements [vfs.File].
func (f *logFile) SyncTo(length int64) (full bool, err error) {
	f.sync(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, nil
}

// sync is not tried again when it failed: see guardedFile.Sync.
func (f *logFile) sync(do func() error) {
	if f.guard.err() != nil {
		return
	}
	if err := do(); err != nil {
		f.guard.breakWith(err)
	}
}

// Close implements [vfs.File].
func (f *logFile) Close() error {
	if f.File == nil {
		return nil
	}
	if err := f.File.Close(); err != nil {
		f.guard.breakWith(err)
	}
	return nil
}

// Stat implements [vfs.File].
func (f *logFile) Stat() (vfs.FileInfo, error) {
	if f.File == nil {
		return noFile{}, nil
	}
	info, err := f.File.Stat()
	if err != nil {
		f.guard.breakWith(err)
		return noFile{}, nil
	}
	return info, nil
}

// Fd implements [vfs.File].
func (f *logFile) Fd() uintptr {
	if f.File == nil {
		return vfs.InvalidFd
	}
	return f.File.Fd()
}

// noFile describes a log file that is not there.
type noFile struct{}

func (noFile) Name() string           { return "" }
func (noFile) Size() int64            { return 0 }
func (noFile) Mode() os.FileMode      { return 0 }
func (noFile) ModTime() time.Time     { return time.Time{} }
func (noFile) IsDir() bool            { return false }
func (noFile) Sys() any               { return nil }
func (noFile) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }
