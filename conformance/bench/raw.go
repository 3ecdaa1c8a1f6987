package main

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// rawLog is the limit that durable adds are divided by: one file, one
// committer that writes what has gathered, syncs once and wakes all who
// waited. Nothing can be read back from it, rolled, fenced or recovered.
type rawLog struct {
	file      *os.File
	syncDelay time.Duration

	mu      sync.Mutex // guards what follows
	filling *rawGroup
	closed  bool
	ready   *sync.Cond
	stopped chan struct{} // closed by the committer when it ends
}

// rawGroup is what one sync makes durable. done is closed by the committer.
type rawGroup struct {
	bytes     []byte
	callbacks []func()
	done      chan struct{}
}

func newRawLog(dir string, syncDelay time.Duration) (*rawLog, error) {
	file, err := os.Create(filepath.Join(dir, "raw.log"))
	if err != nil {
		return nil, err
	}
	l := &rawLog{file: file, syncDelay: syncDelay, filling: newRawGroup(nil), stopped: make(chan struct{})}
	l.ready = sync.NewCond(&l.mu)
	go l.commit()
	return l, nil
}

func newRawGroup(buffer []byte) *rawGroup {
	return &rawGroup{bytes: buffer[:0], done: make(chan struct{})}
}

// put frames payload into the group being filled and returns that group.
func (l *rawLog) put(payload []byte, callback func()) *rawGroup {
	var header [8]byte
	binary.LittleEndian.PutUint32(header[:4], uint32(len(payload)))
	binary.LittleEndian.PutUint32(header[4:], crc32.Checksum(payload, castagnoli))
	l.mu.Lock()
	group := l.filling
	if len(group.bytes) == 0 {
		l.ready.Signal()
	}
	group.bytes = append(append(group.bytes, header[:]...), payload...)
	if callback != nil {
		group.callbacks = append(group.callbacks, callback)
	}
	l.mu.Unlock()
	return group
}

func (l *rawLog) add(payload []byte) error {
	<-l.put(payload, nil).done
	return nil
}

func (l *rawLog) adder(done func()) func(payload []byte) error {
	return func(payload []byte) error {
		l.put(payload, done)
		return nil
	}
}

// commit runs until close.
func (l *rawLog) commit() {
	defer close(l.stopped)
	var spare []byte
	for {
		l.mu.Lock()
		for len(l.filling.bytes) == 0 && !l.closed {
			l.ready.Wait()
		}
		if len(l.filling.bytes) == 0 {
			l.mu.Unlock()
			return
		}
		group := l.filling
		l.filling = newRawGroup(spare)
		l.mu.Unlock()
		if _, err := l.file.Write(group.bytes); err != nil {
			panic(err)
		}
		if err := syscall.Fdatasync(int(l.file.Fd())); err != nil {
			panic(err)
		}
		if l.syncDelay > 0 {
			time.Sleep(l.syncDelay)
		}
		spare = group.bytes
		close(group.done)
		for _, callback := range group.callbacks {
			callback()
		}
	}
}

func (l *rawLog) close() error {
	l.mu.Lock()
	l.closed = true
	l.ready.Signal()
	l.mu.Unlock()
	<-l.stopped
	return l.file.Close()
}
