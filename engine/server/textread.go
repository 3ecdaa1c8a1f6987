package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// format writes one entry.
type format func(out io.Writer, p sdk.Position, entry []byte) error

// stream reads a topic and writes its entries until the end of what was asked
// for. Errors behind the first byte end the answer early, which the client
// sees.
func (w *web) stream(r http.ResponseWriter, q *http.Request, topic, contentType string, write format) error {
	request, err := readOf(q, topic)
	if err != nil {
		return err
	}
	stream, err := w.read.Read(q.Context(), request)
	if err != nil {
		return wire.Error(err)
	}
	for begun := false; ; {
		frame, err := stream.Recv()
		if err != nil && !begun && !errors.Is(err, io.EOF) {
			return wire.Error(err)
		}
		if !begun {
			r.Header().Set("Content-Type", contentType)
			begun = true
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			panic(http.ErrAbortHandler) // the only way to say that the body is not complete
		}
		for _, run := range frame.GetEntries().GetRuns() {
			if writeRun(r, run, write) != nil {
				return nil // the client is gone
			}
		}
		if flusher, ok := r.(http.Flusher); ok {
			flusher.Flush()
		}
	}
}

// writeRun writes the entries of a run.
func writeRun(out io.Writer, run *tidemarkv1.EntryRun, write format) error {
	i := 0
	for entry, err := range message.Unpack(run.GetEntries()) {
		if err != nil {
			return err
		}
		at := sdk.Position{Ledger: sdk.LedgerID(run.GetLedger()), Entry: sdk.EntryID(run.GetFirstEntry() + int64(i))}
		if len(run.GetOffsets()) > i {
			at.Entry = sdk.EntryID(run.GetFirstEntry() + int64(run.GetOffsets()[i]))
		}
		if err := write(out, at, entry); err != nil {
			return err
		}
		i++
	}
	return nil
}

// readOf reads what a request wants to read.
func readOf(q *http.Request, topic string) (*tidemarkv1.ReadRequest, error) {
	parameters := q.URL.Query()
	request := &tidemarkv1.ReadRequest{Topic: topic}
	var err error
	if from := parameters.Get("from"); from != "" {
		if request.Start, err = wire.ParseStart(from); err != nil {
			return nil, err
		}
	}
	switch follow := parameters.Get("follow"); follow {
	case "", "false":
	case "true":
		request.Follow = true
	default:
		return nil, fmt.Errorf("%w: follow=%q is neither true nor false", sdk.ErrInvalid, follow)
	}
	if most := parameters.Get("max"); most != "" {
		if request.MaxEntries, err = strconv.ParseUint(most, 10, 64); err != nil {
			return nil, fmt.Errorf("%w: max=%q is not a whole number", sdk.ErrInvalid, most)
		}
	}
	return request, nil
}

// lineOf writes the payload as a line.
func lineOf(out io.Writer, _ sdk.Position, entry []byte) error {
	m, err := message.Decode(entry)
	if err != nil {
		m.Payload = entry
	}
	_, err = out.Write(append(m.Payload[:len(m.Payload):len(m.Payload)], '\n'))
	return err
}

// entryJSON is an entry as an object on a line.
type entryJSON struct {
	Position    string            `json:"position"`
	PublishTime *time.Time        `json:"publishTime,omitempty"`
	Key         string            `json:"key,omitempty"`
	Producer    string            `json:"producer,omitempty"`
	Sequence    uint64            `json:"sequence,omitempty"`
	Attributes  map[string]string `json:"attributes,omitempty"`
	// Payload is the payload if it is text, else PayloadBase64 is.
	Payload       *string `json:"payload,omitempty"`
	PayloadBase64 []byte  `json:"payloadBase64,omitempty"`
}

// jsonOf writes an entry as an object on a line.
func jsonOf(out io.Writer, p sdk.Position, entry []byte) error {
	m, err := message.Decode(entry)
	if err != nil { // an embedder may append what it wants
		m = message.Message{Payload: entry}
	}
	e := entryJSON{
		Position: p.String(), Key: string(m.Key), Producer: m.Producer, Sequence: m.Sequence, Attributes: m.Attributes,
	}
	if !m.PublishTime.IsZero() {
		at := m.PublishTime.UTC()
		e.PublishTime = &at
	}
	if utf8.Valid(m.Payload) {
		text := string(m.Payload)
		e.Payload = &text
	} else {
		e.PayloadBase64 = m.Payload
	}
	return json.NewEncoder(out).Encode(e)
}
