package server_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/client"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// Repeated and faulty calls get the right code and reason.
func TestS077RepeatedAndFaultyCalls(t *testing.T) {
	for name, open := range map[string]func(testing.TB, ...func(*house)) *house{"memory": open, "pebble": openPebble} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			c := h.dial("demo")
			own := map[string]string{"retention-time": "7d"}
			for _, step := range []struct {
				what string
				do   func() error
				want error
				code codes.Code
			}{
				{"create again", func() error { return c.CreateTopic(h.ctx(), "demo", nil) }, nil, codes.OK},
				{"create with other settings", func() error { return c.CreateTopic(h.ctx(), "demo", own) }, reason.ErrTopicExists, codes.AlreadyExists},
				{"create with an unknown setting", func() error {
					return c.CreateTopic(h.ctx(), "new", map[string]string{"read-polcy": "x"})
				}, reason.ErrInvalidSetting, codes.InvalidArgument},
				{"create without a name", func() error { return c.CreateTopic(h.ctx(), "", nil) }, reason.ErrInvalidName, codes.InvalidArgument},
				{"create a path", func() error { return c.CreateTopic(h.ctx(), "../etc", nil) }, reason.ErrInvalidName, codes.InvalidArgument},
				{"describe one that is not there", func() error { _, err := c.DescribeTopic(h.ctx(), "none"); return err }, reason.ErrTopicNotFound, codes.NotFound},
				{"produce to one that is not there", func() error { _, err := c.Producer(h.ctx(), "none", client.ProducerOptions{}); return err }, reason.ErrTopicNotFound, codes.NotFound},
				{"produce with a bad name", func() error {
					_, err := c.Producer(h.ctx(), "demo", client.ProducerOptions{Name: "a b"})
					return err
				}, reason.ErrInvalidName, codes.InvalidArgument},
				{"append to one that is not there", func() error { _, err := c.Append(h.ctx(), "none", text("x")); return err }, reason.ErrTopicNotFound, codes.NotFound},
				{"append nothing", func() error { _, err := c.Append(h.ctx(), "demo"); return err }, sdk.ErrInvalid, codes.InvalidArgument},
				{"read one that is not there", func() error { return readOne(h, c, "none", client.ReadOptions{}) }, reason.ErrTopicNotFound, codes.NotFound},
				{"read where no cursor is", func() error {
					return readOne(h, c, "demo", client.ReadOptions{From: client.WhereCursor("none")})
				}, reason.ErrCursorNotFound, codes.NotFound},
				{"open a cursor that must exist", func() error {
					_, err := c.Cursor(h.ctx(), "demo", "none", client.CursorOptions{MustExist: true})
					return err
				}, reason.ErrCursorNotFound, codes.NotFound},
				{"open a cursor with a bad name", func() error { _, err := c.Cursor(h.ctx(), "demo", "a/../b", client.CursorOptions{}); return err }, reason.ErrInvalidName, codes.InvalidArgument},
				{"describe no cursor", func() error { _, err := c.DescribeCursor(h.ctx(), "demo", "none"); return err }, reason.ErrCursorNotFound, codes.NotFound},
				{"create a cursor", func() error { _, err := c.CreateCursor(h.ctx(), "demo", "one", client.Earliest()); return err }, nil, codes.OK},
				{"create a cursor again", func() error { _, err := c.CreateCursor(h.ctx(), "demo", "one", client.Earliest()); return err }, reason.ErrCursorExists, codes.AlreadyExists},
				{"acknowledge beyond the log", func() error {
					return c.AcknowledgeEntries(h.ctx(), "demo", "one", sdk.Position{Ledger: 900, Entry: 1})
				}, reason.ErrPositionInvalid, codes.InvalidArgument},
				{"skip backwards", func() error { _, err := c.SkipEntries(h.ctx(), "demo", "one", -1); return err }, sdk.ErrInvalid, codes.InvalidArgument},
				{"delete a cursor", func() error { return c.DeleteCursor(h.ctx(), "demo", "one") }, nil, codes.OK},
				{"delete a cursor again", func() error { return c.DeleteCursor(h.ctx(), "demo", "one") }, nil, codes.OK},
				{"set an unknown setting", func() error {
					_, err := c.UpdateTopic(h.ctx(), "demo", map[string]string{"read-polcy": "x"})
					return err
				}, reason.ErrInvalidSetting, codes.InvalidArgument},
				{"terminate", func() error { _, err := c.TerminateTopic(h.ctx(), "demo"); return err }, nil, codes.OK},
				{"terminate again", func() error { _, err := c.TerminateTopic(h.ctx(), "demo"); return err }, nil, codes.OK},
				{"append to a terminated one", func() error { _, err := c.Append(h.ctx(), "demo", text("x")); return err }, reason.ErrTerminated, codes.FailedPrecondition},
				{"delete one that is not there", func() error { return c.DeleteTopic(h.ctx(), "none") }, nil, codes.OK},
				{"delete", func() error { return c.DeleteTopic(h.ctx(), "demo") }, nil, codes.OK},
				{"use after delete", func() error { _, err := c.DescribeTopic(h.ctx(), "demo"); return err }, reason.ErrTopicNotFound, codes.NotFound},
				{"delete again", func() error { return c.DeleteTopic(h.ctx(), "demo") }, nil, codes.OK},
			} {
				err := step.do()
				if (err == nil) != (step.want == nil) || !errors.Is(err, step.want) || codeOf(err) != step.code {
					t.Errorf("%s: %v (%v), want %v (%v)", step.what, err, codeOf(err), step.want, step.code)
				}
			}
		})
	}
}

// codeOf finds the code in an error that a client has wrapped.
func codeOf(err error) codes.Code {
	var carried interface{ GRPCStatus() *status.Status }
	if errors.As(err, &carried) {
		return carried.GRPCStatus().Code()
	}
	if errors.Is(err, sdk.ErrInvalid) {
		return codes.InvalidArgument // found by the client itself
	}
	return status.Code(err)
}

// readOne reads until the first batch or error.
func readOne(h *house, c *client.Client, topic string, o client.ReadOptions) error {
	for _, err := range c.Reader(topic, o).Batches(h.ctx()) {
		return err
	}
	return nil
}

func TestErrorDetails(t *testing.T) {
	h := open(t)
	_, err := tidemarkv1.NewCursorServiceClient(h.conn()).DescribeCursor(h.ctx(), &tidemarkv1.DescribeCursorRequest{Topic: "none", Cursor: "c"})
	st := status.Convert(err)
	if len(st.Details()) != 1 {
		t.Fatalf("%v has the details %v", err, st.Details())
	}
	info, ok := st.Details()[0].(*errdetails.ErrorInfo)
	if !ok || info.GetReason() != "TOPIC_NOT_FOUND" || info.GetDomain() != "tidemark" || info.GetMetadata()["topic"] != "none" || info.GetMetadata()["cursor"] != "c" {
		t.Errorf("%v", st.Details()[0])
	}
	if !strings.Contains(st.Message(), `"none"`) {
		t.Errorf("the message does not name the topic: %s", st.Message())
	}
}

func TestListing(t *testing.T) {
	h := open(t)
	want := []string{"a", "a/b", "c", "größe", "x:y"}
	c := h.dial(want...)
	got, err := c.Topics(h.ctx())
	if slices.Sort(got); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	topics := tidemarkv1.NewTopicServiceClient(h.conn())
	var paged []string
	for request := (&tidemarkv1.ListTopicsRequest{PageSize: 2}); ; {
		page, err := topics.ListTopics(h.ctx(), request)
		if err != nil || len(page.GetTopics()) > 2 {
			t.Fatalf("%v, %v", page, err)
		}
		paged = append(paged, page.GetTopics()...)
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			break
		}
	}
	if slices.Sort(paged); !slices.Equal(paged, want) {
		t.Errorf("paged: %q", paged)
	}
	for _, bad := range []*tidemarkv1.ListTopicsRequest{{PageSize: -1}, {PageToken: "%%%"}} {
		if _, err := topics.ListTopics(h.ctx(), bad); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if page, err := topics.ListTopics(h.ctx(), &tidemarkv1.ListTopicsRequest{PageSize: 1 << 30}); err != nil || len(page.GetTopics()) != len(want) {
		t.Errorf("a page that is too large: %v, %v", page, err)
	}
}

func TestDescribeAndUpdate(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{Name: "p1"})
	h.sendAll(p, 0, 10)
	if _, err := c.CreateCursor(h.ctx(), "demo", "billing", client.Earliest()); err != nil {
		t.Fatal(err)
	}
	if err := c.RollTopic(h.ctx(), "demo"); err != nil {
		t.Fatal(err)
	}
	settings, err := c.UpdateTopic(h.ctx(), "demo", map[string]string{"read-policy": "extend-on-executor"})
	if err != nil || settings["read-policy"].GetValue() != "extend-on-executor" || settings["read-policy"].GetFrom() != "topic" {
		t.Errorf("%v, %v", settings["read-policy"], err)
	}
	d, err := c.DescribeTopic(h.ctx(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	if d.GetEntries() != 10 || d.GetState() != "open" || len(d.GetLedgers()) < 1 || d.GetTotals().GetAddedEntries() != 10 {
		t.Errorf("%v", d)
	}
	if len(d.GetCursors()) != 1 || d.GetCursors()[0].GetBacklog() != 10 || !d.GetCursors()[0].GetDurable() {
		t.Errorf("%v", d.GetCursors())
	}
	if len(d.GetProducers()) != 1 || d.GetProducers()[0].GetLastSequence() != 10 || !d.GetProducers()[0].GetConnected() {
		t.Errorf("%v", d.GetProducers())
	}
	if d.GetSettings()["read-policy"].GetValue() != "extend-on-executor" || d.GetSettings()["submission"].GetFrom() != "engine" {
		t.Errorf("%v", d.GetSettings())
	}
}
