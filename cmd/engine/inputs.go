package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// inputs are the byte streams that produce reads, one behind the other.
type inputs struct {
	files []input
	size  int64 // of all together; -1 if that is not known
}

type input struct {
	name string
	in   io.Reader
}

// openInputs opens all files before anything is read, so that a wrong name is
// heard of before half is sent. Without names it is standard input.
func openInputs(names []string, stdin io.Reader) (*inputs, error) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	in := &inputs{}
	for _, name := range names {
		if name == "-" {
			in.files = append(in.files, input{"standard input", stdin})
			in.addSize(stdin)
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			in.close()
			return nil, usageError{err}
		}
		in.files = append(in.files, input{name, f})
		if info, err := f.Stat(); err == nil && info.IsDir() {
			in.close()
			return nil, usageError{fmt.Errorf("%s is a directory", name)}
		}
		in.addSize(f)
	}
	return in, nil
}

// addSize counts a file's bytes, as far as they are known.
func (in *inputs) addSize(r io.Reader) {
	f, isFile := r.(*os.File)
	if isFile {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && in.size >= 0 {
			in.size += info.Size()
			return
		}
	}
	in.size = -1
}

func (in *inputs) close() error {
	var problems []error
	for _, file := range in.files {
		if f, isFile := file.in.(*os.File); isFile && f != os.Stdin {
			problems = append(problems, f.Close())
		}
	}
	return errors.Join(problems...)
}

// reader reads the input, counts what was read, and ends with the context.
func (in input) reader(ctx context.Context, p *progress) io.Reader {
	return &contextReader{ctx: ctx, in: in.in, progress: p}
}

// contextReader is a reader that a signal can end, also while a terminal or
// pipe gives nothing: the read that is under way then is left behind.
type contextReader struct {
	ctx      context.Context
	in       io.Reader
	progress *progress
	buffer   []byte
	rest     []byte
}

type readResult struct {
	n   int
	err error
}

// Read implements io.Reader.
func (r *contextReader) Read(to []byte) (int, error) {
	if len(r.rest) == 0 {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(to, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// fill reads on another goroutine, which ends with its one read.
func (r *contextReader) fill() error {
	if r.buffer == nil {
		r.buffer = make([]byte, readBuffer)
	}
	ended := make(chan readResult, 1) // has room: the reading goroutine never waits
	go func() {
		n, err := r.in.Read(r.buffer)
		ended <- readResult{n, err}
	}()
	select {
	case result := <-ended:
		r.progress.add(result.n)
		r.rest = r.buffer[:result.n]
		if result.n > 0 {
			return nil // an error comes again with the next read
		}
		return result.err
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// isTerminal says whether a person looks at w.
func isTerminal(w any) bool {
	f, isFile := w.(*os.File)
	return isFile && term.IsTerminal(int(f.Fd()))
}
