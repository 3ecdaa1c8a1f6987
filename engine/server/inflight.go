package server

import "sync"

// inFlight counts what has to end before the server does.
type inFlight struct {
	mu   sync.Mutex // guards n and idle
	n    int
	idle chan struct{} // closed when n falls to 0 after somebody asked; nil: nobody did
}

// begin counts one more, until the func it returns is called.
func (f *inFlight) begin() (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.n--; f.n == 0 && f.idle != nil {
			close(f.idle)
			f.idle = nil
		}
	}
}

// wait returns a channel that is closed when nothing is in flight.
func (f *inFlight) wait() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	idle := make(chan struct{})
	if f.n == 0 {
		close(idle)
	} else {
		f.idle = idle
	}
	return idle
}
