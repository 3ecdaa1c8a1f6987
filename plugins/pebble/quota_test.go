package pebble_test

import (
	"os"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// quota is a file system in memory with a limited size. A write that does not
// fit is cut short, as on a real one.
type quota struct {
	vfs.FS

	mu    sync.Mutex // guards what follows
	limit int64
	sizes map[string]int64
}

func newQuota(limit int64) *quota {
	return &quota{FS: vfs.NewMem(), limit: limit, sizes: map[string]int64{}}
}

func (q *quota) setLimit(limit int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit = limit
}

// used must be called with the mutex held.
func (q *quota) used() int64 {
	total := int64(0)
	for _, size := range q.sizes {
		total += size
	}
	return total
}

// fill makes another file take all that is left but free bytes.
func (q *quota) fill(free int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sizes["somebody else's"] += q.limit - q.used() - free
}

func (q *quota) clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.sizes, "somebody else's")
}

// grow lets a file reach end, or returns how far it may go.
func (q *quota) grow(name string, from, end int64) (until int64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := q.sizes[name]
	if end <= size {
		return end, nil
	}
	if left := q.limit - q.used(); end-size > left {
		until = max(size+max(left, 0), from)
		q.sizes[name] = max(size, min(until, end))
		return until, syscall.ENOSPC
	}
	q.sizes[name] = end
	return end, nil
}

func (q *quota) move(from, to string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if size, there := q.sizes[from]; there {
		q.sizes[to] = size
		delete(q.sizes, from)
	}
}

func (q *quota) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if _, err := q.grow(name, 0, 1); err != nil { // A new file needs a bit of room.
		return nil, err
	}
	f, err := q.FS.Create(name, category)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	q.sizes[name] = 1
	q.mu.Unlock()
	return &quotaFile{File: f, quota: q, name: name}, nil
}

func (q *quota) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := q.FS.ReuseForWrite(from, to, category)
	if err != nil {
		return nil, err
	}
	q.move(from, to)
	return &quotaFile{File: f, quota: q, name: to}, nil
}

func (q *quota) Rename(from, to string) error {
	err := q.FS.Rename(from, to)
	if err == nil {
		q.move(from, to)
	}
	return err
}

func (q *quota) Remove(name string) error {
	err := q.FS.Remove(name)
	if err == nil || os.IsNotExist(err) {
		q.mu.Lock()
		delete(q.sizes, name)
		q.mu.Unlock()
	}
	return err
}

func (q *quota) GetDiskUsage(string) (vfs.DiskUsage, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	free := uint64(max(q.limit-q.used(), 0))
	return vfs.DiskUsage{AvailBytes: free, TotalBytes: uint64(q.limit), UsedBytes: uint64(q.used())}, nil
}

func (q *quota) Unwrap() vfs.FS { return q.FS }

type quotaFile struct {
	vfs.File
	quota *quota
	name  string
	at    int64
}

func (f *quotaFile) Write(p []byte) (int, error) {
	until, full := f.quota.grow(f.name, f.at, f.at+int64(len(p)))
	n, err := f.File.Write(p[:until-f.at])
	f.at += int64(n)
	if err == nil {
		err = full
	}
	return n, err
}

func (f *quotaFile) Preallocate(offset, length int64) error {
	_, err := f.quota.grow(f.name, 0, offset+length)
	return err
}
