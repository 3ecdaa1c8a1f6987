package server

import (
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// produceAdd is one batch on its way. Its bytes are kept until it is answered,
// because a topic without room has to be asked again.
type produceAdd struct {
	session *session
	first   uint64
	count   uint32
	packed  []byte

	// The stream's mutex guards these.
	ended    bool
	appended engine.Appended
	err      error
}

func newProduceAdd(s *session, b *tidemarkv1.ProduceBatch) *produceAdd {
	return &produceAdd{session: s, first: b.GetFirstSequence(), count: b.GetCount(), packed: b.GetMessages()}
}

// size is what the batch counts against the stream's limit.
func (a *produceAdd) size() int64 { return int64(len(a.packed)) + 64 }

// decode unpacks the batch behind msgs, which is empty, and checks it. The
// messages are parts of packed.
func (a *produceAdd) decode(msgs []message.Message) ([]message.Message, error) {
	limit := a.session.stream.server.maxEntryBytes()
	for entry, err := range message.Unpack(a.packed) {
		if err == nil && len(entry) > limit {
			err = tooLarge(len(entry), limit)
		}
		var m message.Message
		if err == nil {
			m, err = message.Decode(entry)
		}
		if err != nil {
			return nil, fmt.Errorf("message %d of %d: %w", len(msgs)+1, a.count, invalid(err))
		}
		m.Sequence, m.PublishTime = a.first+uint64(len(msgs)), time.Time{} // the server's own
		msgs = append(msgs, m)
	}
	if len(msgs) != int(a.count) {
		return nil, fmt.Errorf("%w: a batch says that it holds %d messages and holds %d", sdk.ErrInvalid, a.count, len(msgs))
	}
	return msgs, nil
}

// done takes the topic's answer, from any goroutine.
func (a *produceAdd) done(appended engine.Appended, err error) {
	p := a.session.stream
	p.mu.Lock()
	defer p.mu.Unlock()
	a.session.settle(a, appended, err)
}

// tell adds to a frame what the batch's end says. Callers hold the mutex.
func (a *produceAdd) tell(frame *tidemarkv1.ProduceResponse, ack *tidemarkv1.ProduceAcknowledgement) {
	sequence := a.first + uint64(a.appended.Duplicates)
	for _, span := range a.appended.Spans() {
		addRun(ack, &tidemarkv1.StoredRun{
			FirstSequence: sequence, Count: uint32(span.Count),
			Ledger: int64(span.First.Ledger), FirstEntry: int64(span.First.Entry),
		})
		sequence += uint64(span.Count)
	}
	if a.err != nil {
		frame.Failures = append(frame.Failures, &tidemarkv1.ProduceFailure{
			Session: a.session.id, FirstSequence: sequence,
			Count: uint32(a.first + uint64(a.count) - sequence), Error: wire.Failure(a.err),
		})
	}
	ack.UpToSequence = a.first + uint64(a.count) - 1
}

// addRun adds a run to an acknowledgement, to the last one if it goes on there.
func addRun(ack *tidemarkv1.ProduceAcknowledgement, run *tidemarkv1.StoredRun) {
	if run.GetCount() == 0 {
		return
	}
	if n := len(ack.Stored); n > 0 {
		last := ack.Stored[n-1]
		if last.GetLedger() == run.GetLedger() && last.GetFirstEntry()+int64(last.GetCount()) == run.GetFirstEntry() &&
			last.GetFirstSequence()+uint64(last.GetCount()) == run.GetFirstSequence() {
			last.Count += run.GetCount()
			return
		}
	}
	ack.Stored = append(ack.Stored, run)
}
