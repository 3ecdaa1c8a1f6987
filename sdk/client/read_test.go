package client

import (
	"errors"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// only ranges to the end and returns the error.
func only[T any](all iter.Seq2[T, error]) (err error) {
	for _, err = range all {
	}
	return err
}

// run is a frame of entries from..to-1 of ledger 1, whose payloads are letters.
func run(from, to int) *tidemarkv1.Entries {
	var payloads []string
	for i := from; i < to; i++ {
		payloads = append(payloads, string(rune('a'+i)))
	}
	return &tidemarkv1.Entries{
		Runs: []*tidemarkv1.EntryRun{{Ledger: 1, FirstEntry: int64(from), Count: uint32(to - from), Entries: packed(payloads...)}},
		Next: at(to),
	}
}

func at(entry int) *tidemarkv1.Position { return &tidemarkv1.Position{Ledger: 1, Entry: int64(entry)} }

func entriesFrame(from, to int) *tidemarkv1.ReadResponse {
	return &tidemarkv1.ReadResponse{Frame: &tidemarkv1.ReadResponse_Entries{Entries: run(from, to)}}
}

func endFrame(cause tidemarkv1.EndCause, resume int) *tidemarkv1.ReadResponse {
	return &tidemarkv1.ReadResponse{Frame: &tidemarkv1.ReadResponse_End{End: &tidemarkv1.End{Cause: cause, Resume: at(resume)}}}
}

func beatFrame(next int) *tidemarkv1.ReadResponse {
	return &tidemarkv1.ReadResponse{Frame: &tidemarkv1.ReadResponse_Heartbeat{
		Heartbeat: &tidemarkv1.Heartbeat{LastConfirmed: at(next - 1), Next: at(next)},
	}}
}

func goneFrame(next int) *tidemarkv1.ReadResponse {
	return &tidemarkv1.ReadResponse{Frame: &tidemarkv1.ReadResponse_Gone{Gone: &tidemarkv1.Gone{Next: at(next)}}}
}

const (
	tail     = tidemarkv1.EndCause_END_CAUSE_TAIL
	shutdown = tidemarkv1.EndCause_END_CAUSE_SHUTDOWN
)

// script serves each read stream with its frames; it ends as they say.
type script struct {
	frames []*tidemarkv1.ReadResponse
	end    error
}

func (f *fake) serve(requests *[]*tidemarkv1.ReadRequest, scripts ...script) {
	f.read = func(n int, r *tidemarkv1.ReadRequest, s readSender) error {
		*requests = append(*requests, r)
		if n > len(scripts) {
			<-s.Context().Done()
			return nil
		}
		for _, frame := range scripts[n-1].frames {
			if err := s.Send(frame); err != nil {
				return err
			}
		}
		return scripts[n-1].end
	}
}

// letters are the payloads of a batch, . for the head and ! for what is gone.
func letters(b Batch) (all string) {
	if b.Gone {
		all = "!"
	}
	for _, e := range b.Entries {
		all += string(e.Payload)
	}
	if b.AtHead {
		all += "."
	}
	return all
}

// However a stream ends, reading goes on where it was, and ends only when the
// server says that there is no more.
func TestReaderGoesOn(t *testing.T) {
	for name, ends := range map[string]script{
		"error":                  {end: errCut},
		"without saying why":     {},
		"shutdown":               {frames: []*tidemarkv1.ReadResponse{endFrame(shutdown, 5)}, end: errCut},
		"shutdown, gently":       {frames: []*tidemarkv1.ReadResponse{endFrame(shutdown, 5)}},
		"a cause nobody knows":   {frames: []*tidemarkv1.ReadResponse{endFrame(99, 5)}},
		"the server is too busy": {end: sdk.ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startFake(t)
				var requests []*tidemarkv1.ReadRequest
				first := append([]*tidemarkv1.ReadResponse{entriesFrame(0, 2), goneFrame(3), entriesFrame(3, 5)}, ends.frames...)
				f.serve(&requests, script{first, ends.end}, script{nil, errCut}, script{
					[]*tidemarkv1.ReadResponse{entriesFrame(5, 7), beatFrame(7), endFrame(tail, 7)}, nil,
				})
				c := f.dial(Options{})
				defer f.close(c)
				var got string
				r := c.Reader("demo", ReadOptions{MaxEntries: 100})
				for b, err := range r.Batches(ctx()) {
					if err != nil {
						t.Fatal(err)
					}
					got += letters(b)
				}
				if got != "ab!defg." || len(requests) != 3 {
					t.Errorf("%q over %d streams", got, len(requests))
				}
				for _, q := range requests[1:] {
					if q.GetStart().GetAt().GetEntry() != 5 || q.GetMaxEntries() != 96 {
						t.Errorf("went on with %v", q)
					}
				}
				if next, begun := r.Position(); next.Entry != 7 || !begun {
					t.Errorf("stands at %v", next)
				}
			})
		})
	}
}

// Leaving the loop over entries in the middle of a batch loses none and repeats
// none.
func TestLeaveInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		var requests []*tidemarkv1.ReadRequest
		f.read = func(_ int, r *tidemarkv1.ReadRequest, s readSender) error {
			requests = append(requests, r)
			from := int(r.GetStart().GetAt().GetEntry())
			to := min(26, from+int(r.GetMaxEntries()))
			return errors.Join(s.Send(entriesFrame(from, min(from+10, to))), s.Send(endFrame(tail, to)))
		}
		c := f.dial(Options{})
		defer f.close(c)
		r := c.Reader("demo", ReadOptions{MaxEntries: 24})
		var got []byte
		for len(got) < 24 {
			begun := len(got)
			for e, err := range r.Entries(ctx()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e.Payload...)
				if next, _ := r.Position(); int(next.Entry) != len(got) {
					t.Errorf("stands at %v after %q", next, got)
				}
				if len(got) == begun+3 {
					break
				}
			}
			if len(got) == begun {
				t.Fatalf("no more after %q", got)
			}
		}
		if string(got) != "abcdefghijklmnopqrstuvwx" {
			t.Errorf("%q", got)
		}
		if only(r.Entries(ctx())) != nil || len(requests) != 8 {
			t.Errorf("%d streams", len(requests))
		}
	})
}

// A reader gives up when nothing came for as long as the options say, and at
// once where trying again does not help.
func TestReaderGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		c := f.dial(Options{})
		defer f.close(c)
		for _, failure := range []struct {
			err   error
			tries int
		}{{reason.ErrTopicNotFound, 1}, {sdk.ErrCorrupt, 1}, {sdk.ErrUnavailable, 15}} {
			tries := 0
			f.read = func(int, *tidemarkv1.ReadRequest, readSender) error { tries++; return failure.err }
			err := only(c.Reader("demo", ReadOptions{}).Batches(ctx()))
			if !errors.Is(err, failure.err) || tries < failure.tries || tries > 2*failure.tries-1 {
				t.Errorf("%v after %d tries", err, tries)
			}
		}
		f.read = func(_ int, _ *tidemarkv1.ReadRequest, s readSender) error { return s.Send(endFrame(shutdown, 0)) }
		if err := only(c.Reader("demo", ReadOptions{}).Batches(ctx())); !errors.Is(err, sdk.ErrUnavailable) {
			t.Errorf("a server that always shuts down: %v", err)
		}
		f.read = func(_ int, _ *tidemarkv1.ReadRequest, s readSender) error {
			damaged := run(0, 2)
			damaged.Runs[0].Count = 3
			return s.Send(&tidemarkv1.ReadResponse{Frame: &tidemarkv1.ReadResponse_Entries{Entries: damaged}})
		}
		if err := only(c.Reader("demo", ReadOptions{}).Entries(ctx())); !errors.Is(err, sdk.ErrCorrupt) {
			t.Errorf("a damaged frame: %v", err)
		}
	})
}

// Leaving the loop ends the stream at the server.
func TestLeavingEndsTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t)
		ended := make(chan struct{})
		f.read = func(_ int, _ *tidemarkv1.ReadRequest, s readSender) error {
			defer close(ended)
			err := s.Send(beatFrame(0))
			<-s.Context().Done()
			return err
		}
		c := f.dial(Options{})
		defer f.close(c)
		for b, err := range c.Reader("demo", ReadOptions{Follow: true}).Batches(ctx()) {
			if err != nil || !b.AtHead || len(b.Entries) > 0 {
				t.Errorf("%+v, %v", b, err)
			}
			break
		}
		<-ended
	})
}
