package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// How much of a body is appended at once.
const (
	linesPerAppend = 1000
	bytesPerAppend = 256 << 10
)

// handleText adds the paths for curl to those of the gateway.
func (w *web) handleText() error {
	page := func(method, path string, serve func(http.ResponseWriter, *http.Request, string) error) error {
		return w.gateway.HandlePath(method, path, func(r http.ResponseWriter, q *http.Request, p map[string]string) {
			if err := serve(r, q, slashes(p["topic"])); err != nil {
				w.refuse(r, q, err)
			}
		})
	}
	return errors.Join(
		page("POST", "/v1/topics/{topic}/lines", w.publish),
		page("GET", "/v1/topics/{topic}/lines", func(r http.ResponseWriter, q *http.Request, topic string) error {
			return w.stream(r, q, topic, "text/plain; charset=utf-8", lineOf)
		}),
		page("GET", "/v1/topics/{topic}/entries", func(r http.ResponseWriter, q *http.Request, topic string) error {
			return w.stream(r, q, topic, "application/x-ndjson", jsonOf)
		}),
	)
}

// published answers a publish.
type published struct {
	Messages   int    `json:"messages"`
	Duplicates int    `json:"duplicates,omitempty"`
	Last       string `json:"last,omitempty"`
}

// publish appends the body, a message a line; what is behind the last line end
// is a message too. Lines are durable when it answers. With producer and
// first-sequence a repeated request is recognised.
func (w *web) publish(r http.ResponseWriter, q *http.Request, topic string) error {
	request, err := appendOf(q, topic)
	if err != nil {
		return err
	}
	var answer published
	lines := &lineReader{from: bufio.NewReaderSize(q.Body, 64<<10), limit: w.server.maxEntryBytes()}
	for more := true; more; {
		request.Messages, more, err = lines.some()
		if err == nil && len(request.Messages) > 0 {
			err = w.appendSome(q.Context(), request, &answer)
		}
		if err = wire.Error(err); err != nil && answer.Messages > 0 {
			// Not wrapped: of an error with a status only the status would go out.
			err = reason.Error(reason.Of(err), fmt.Sprintf("after %d messages that are stored: %v", answer.Messages, err))
		}
		if err != nil {
			return err
		}
	}
	r.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(r).Encode(answer)
}

// appendOf reads what a publish asks for besides its body.
func appendOf(q *http.Request, topic string) (*tidemarkv1.AppendRequest, error) {
	parameters := q.URL.Query()
	a := &tidemarkv1.AppendRequest{Topic: topic, Producer: parameters.Get("producer")}
	var err error
	if text := parameters.Get("first-sequence"); text != "" {
		if a.FirstSequence, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, fmt.Errorf("%w: first-sequence %q is not a whole number", sdk.ErrInvalid, text)
		}
	} else if a.Producer != "" {
		return nil, fmt.Errorf("%w: a producer needs first-sequence, the sequence of the first line", sdk.ErrInvalid)
	}
	return a, nil
}

// appendSome appends some lines.
func (w *web) appendSome(ctx context.Context, a *tidemarkv1.AppendRequest, answer *published) error {
	appended, err := w.produce.Append(ctx, a)
	if err != nil {
		return err
	}
	answer.Messages += len(a.GetMessages())
	answer.Duplicates += int(appended.GetDuplicates())
	if last := appended.GetLast(); last != nil {
		answer.Last = sdk.Position{Ledger: sdk.LedgerID(last.GetLedger()), Entry: sdk.EntryID(last.GetEntry())}.String()
	}
	if a.GetProducer() != "" {
		a.FirstSequence += uint64(len(a.GetMessages()))
	}
	return nil
}

// lineReader makes messages of lines.
type lineReader struct {
	from  *bufio.Reader
	limit int
}

// some returns some lines as messages, and whether there may be more.
func (l *lineReader) some() (msgs []*tidemarkv1.Message, more bool, err error) {
	for size := 0; len(msgs) < linesPerAppend && size < bytesPerAppend; {
		line, err := l.line()
		if err == io.EOF {
			return msgs, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		msgs = append(msgs, &tidemarkv1.Message{Payload: line})
		size += len(line)
	}
	return msgs, true, nil
}

// line returns the next line without its end; io.EOF if there is none.
func (l *lineReader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.from.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > l.limit+1:
			return nil, fmt.Errorf("%w: a line of more than %d bytes", sdk.ErrTooLarge, l.limit)
		case err == nil:
			return line[:len(line)-1], nil
		case err == io.EOF && len(line) > 0:
			return line, nil
		case err == io.EOF:
			return nil, err
		case err != bufio.ErrBufferFull:
			return nil, fmt.Errorf("%w: the body cannot be read: %w", sdk.ErrInvalid, err)
		}
	}
}
