package server

import (
	"sync"

	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// answers are the requests of a consume stream that are not answered, in order.
type answers struct {
	mu      sync.Mutex // guards waiting and what is in them
	waiting []*answer
	// ready has a token when there may be answers to send.
	ready chan struct{}
}

// answer is one request.
type answer struct {
	answers *answers
	id      uint64
	ended   bool
	err     error
	told    bool // taken; for the goroutine that takes
}

func newAnswers() *answers { return &answers{ready: make(chan struct{}, 1)} }

// add notes a request.
func (a *answers) add(id uint64) *answer {
	one := &answer{answers: a, id: id}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = append(a.waiting, one)
	return one
}

// done notes how a request ended. Called from any goroutine.
func (one *answer) done(err error) {
	one.answers.mu.Lock()
	one.ended, one.err = true, err
	one.answers.mu.Unlock()
	notify(one.answers.ready)
}

// take returns the answers to the requests that ended, as far as all before
// them did: one for a run of successes, one for each failure.
func (a *answers) take() []*tidemarkv1.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	var told []*tidemarkv1.Answer
	success := false // the last one told is a success
	for len(a.waiting) > 0 && a.waiting[0].ended {
		one := a.waiting[0]
		a.waiting[0] = nil
		a.waiting = a.waiting[1:]
		one.told = true
		switch {
		case one.err != nil:
			told, success = append(told, &tidemarkv1.Answer{Id: one.id, Error: wire.Failure(one.err)}), false
		case success:
			told[len(told)-1].Id = one.id
		default:
			told, success = append(told, &tidemarkv1.Answer{Id: one.id}), true
		}
	}
	return told
}

// allSent says whether no request waits.
func (a *answers) allSent() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting) == 0
}

// full says whether no more requests should be taken.
func (a *answers) full() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting) >= maxUnansweredRequests
}
