package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk/client"
)

// ask sends a request and returns status and body.
func (h *house) ask(method, path, body string) (int, string) {
	h.t.Helper()
	return h.send(method, path, body, nil)
}

// send is ask with a header.
func (h *house) send(method, path, body string, header http.Header) (int, string) {
	h.t.Helper()
	q, err := http.NewRequestWithContext(h.ctx(), method, h.web+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if header != nil {
		q.Header = header
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Do(q)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func TestHTTPAdministration(t *testing.T) {
	h := open(t)
	for _, step := range []struct {
		method, path, body string
		status             int
		holds              string
	}{
		{"PUT", "/v1/topics/demo", `{"overrides":{"retention-time":"7d"}}`, 200, `{}`},
		{"PUT", "/v1/topics/demo", `{"overrides":{"retention-time":"7d"}}`, 200, `{}`},
		{"PUT", "/v1/topics/demo", `{}`, 409, `"TOPIC_EXISTS"`},
		{"PUT", "/v1/topics/a%2Fb%3Ac", `{}`, 200, `{}`},
		{"GET", "/v1/topics", ``, 200, `"a/b:c"`},
		{"GET", "/v1/topics?pageSize=-1", ``, 400, `"INVALID_ARGUMENT"`},
		{"GET", "/v1/topics/a%2Fb%3Ac", ``, 200, `"name":"a/b:c"`},
		{"PUT", "/v1/topics/demo", `{"settings":{"retention-time":"7d"}}`, 400, `unknown field`},
		{"GET", "/v1/topics/none", ``, 404, `"TOPIC_NOT_FOUND"`},
		{"PATCH", "/v1/topics/demo", `{"overrides":{"submission":"ordered-executor"}}`, 200, `"submission":{"value":"ordered-executor", "from":"topic"}`},
		{"PATCH", "/v1/topics/demo", `{"overrides":{"submision":"direct"}}`, 400, `submission`},
		{"POST", "/v1/topics/demo/messages", `{"messages":[{"payload":"aGVsbG8="},{"payload":"d29ybGQ=","key":"aw==","attributes":{"a":"b"}}]}`, 200, `"last":{"ledger":"0", "entry":"1"}`},
		{"POST", "/v1/topics/demo/messages", `{"messages":[{"payload":"%%%"}]}`, 400, ``},
		{"POST", "/v1/topics/none/messages", `{"messages":[{}]}`, 404, `"TOPIC_NOT_FOUND"`},
		{"PUT", "/v1/topics/demo/cursors/billing", `{"start":{"edge":"EDGE_EARLIEST"}}`, 200, `"backlog":"2"`},
		{"PUT", "/v1/topics/demo/cursors/billing", `{}`, 409, `"CURSOR_EXISTS"`},
		{"GET", "/v1/topics/demo/cursors", ``, 200, `"billing"`},
		{"POST", "/v1/topics/demo/cursors/billing/acknowledge", `{"upTo":{"ledger":0,"entry":0}}`, 200, `{}`},
		{"GET", "/v1/topics/demo/cursors/billing", ``, 200, `"backlog":"1"`},
		{"POST", "/v1/topics/demo/cursors/billing/skip", `{"count":1}`, 200, `"backlog":"0"`},
		{"POST", "/v1/topics/demo/cursors/billing/seek", `{"start":{"at":{"ledger":0,"entry":0}}}`, 200, `"backlog":"2"`},
		{"POST", "/v1/topics/demo/cursors/billing/clear", ``, 200, `"backlog":"0"`},
		{"DELETE", "/v1/topics/demo/cursors/billing", ``, 200, `{}`},
		{"GET", "/v1/topics/demo/cursors/billing", ``, 404, `"CURSOR_NOT_FOUND"`},
		{"POST", "/v1/topics/demo/roll", ``, 200, `{}`},
		{"POST", "/v1/topics/demo/trim", ``, 200, `removedLedgers`},
		{"POST", "/v1/topics/demo/terminate", ``, 200, `"last"`},
		{"POST", "/v1/topics/demo/messages", `{"messages":[{}]}`, 400, `"TOPIC_TERMINATED"`},
		{"DELETE", "/v1/topics/demo", ``, 200, `{}`},
		{"DELETE", "/v1/topics/demo", ``, 200, `{}`},
		{"GET", "/v1/topics/demo", ``, 404, `"TOPIC_NOT_FOUND"`},
		{"GET", "/v1/elsewhere", ``, 404, ``},
		{"GET", "/livez", ``, 200, "ok"},
		{"GET", "/readyz", ``, 200, "ok"},
		{"GET", "/", ``, 200, "Tidemark"},
	} {
		status, body := h.ask(step.method, step.path, step.body)
		if status != step.status || !strings.Contains(plainJSON(body), plainJSON(step.holds)) {
			t.Errorf("%s %s %s: %d %s; want %d and %s", step.method, step.path, step.body, status, body, step.status, step.holds)
		}
	}
}

// plainJSON takes out the spaces that protobuf puts in at random.
func plainJSON(text string) string { return strings.ReplaceAll(text, " ", "") }

func TestHTTPLines(t *testing.T) {
	h := open(t, func(h *house) { h.options.MaxMessageBytes, h.options.FrameBytes = 256<<10, 128<<10 })
	c := h.dial("demo")
	var lines strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&lines, "message %d\n", i)
	}
	status, body := h.ask("POST", "/v1/topics/demo/lines", lines.String()+"message 5000")
	if status != 200 || !strings.Contains(body, `"messages":5001`) || !strings.Contains(body, `"last":"0:5000"`) {
		t.Errorf("%d %s", status, body)
	}
	wantNumbered(t, h.readAll(c, "demo"), 0, 5001)
	if status, body := h.ask("GET", "/v1/topics/demo/lines", ""); status != 200 || body != lines.String()+"message 5000\n" {
		t.Errorf("%d, %d bytes", status, len(body))
	}
	if status, body := h.ask("GET", "/v1/topics/demo/lines?from=0:4990&max=3", ""); status != 200 || body != "message 4990\nmessage 4991\nmessage 4992\n" {
		t.Errorf("%d %s", status, body)
	}
	for path, want := range map[string]string{
		"/v1/topics/demo/lines?from=noon":        "noon",
		"/v1/topics/demo/lines?form=earliest":    "form",
		"/v1/topics/demo/lines?follow=perhaps":   "perhaps",
		"/v1/topics/demo/lines?max=-1":           "-1",
		"/v1/topics/demo/entries?max=1&max=2":    "2 times",
		"/v1/topics/demo/entries?from=@nocursor": "nocursor",
	} {
		if status, body := h.ask("GET", path, ""); status < 400 || status >= 500 || !strings.Contains(body, want) || !strings.Contains(body, `"reason"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, bad := range []string{"producer=p", "producer=p&first-sequence=x", "sequence=1"} {
		if status, body := h.ask("POST", "/v1/topics/demo/lines?"+bad, "x"); status != 400 {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
	if status, body := h.ask("POST", "/v1/topics/demo/lines", strings.Repeat("x", 300<<10)); status != 400 || !strings.Contains(body, "TOO_LARGE") {
		t.Errorf("a line that is too long: %d %.300s", status, body)
	}
	// Bodies are stored in parts: whoever sent one hears how much of it is there.
	if err := c.CreateTopic(h.ctx(), "small", map[string]string{"max-entry-size": "1KiB"}); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{2 << 10, 300 << 10} { // too long for the topic, and for any
		if status, body := h.ask("POST", "/v1/topics/small/lines", strings.Repeat("x\n", 1500)+strings.Repeat("x", size)); status != 400 ||
			!strings.Contains(body, "after 1000 messages that are stored: ") || !strings.Contains(body, "TOO_LARGE") {
			t.Errorf("a line that is too long behind others: %d %.300s", status, body)
		}
	}
	for _, text := range []string{strings.Repeat("x\n", 1500), strings.Repeat("x\n", 10)} {
		if status, body := h.ask("POST", "/v1/topics/nosuch/lines", text); status != 404 || !strings.Contains(body, "TOPIC_NOT_FOUND") || strings.Contains(body, "stored") {
			t.Errorf("no such topic: %d %.300s", status, body)
		}
	}
}

// Every route refuses parameters that it does not know, and changes nothing.
func TestHTTPUnknownParameters(t *testing.T) {
	h := open(t)
	h.dial("demo")
	for _, route := range routes(t) {
		method, path, _ := strings.Cut(strings.NewReplacer("{topic}", "demo", "{cursor}", "billing").Replace(route), " ")
		for query, says := range map[string]string{"nosuch=1": "nosuch", "topic=other": "topic", "nosuch": "nosuch", "max=%zz": "zz"} {
			if status, body := h.ask(method, path+"?"+query, "{}"); status != 400 || !strings.Contains(body, says) || !strings.Contains(body, `"INVALID_ARGUMENT"`) {
				t.Errorf("%s %s?%s: %d %s", method, path, query, status, body)
			}
		}
	}
	if status, body := h.ask("GET", "/v1/topics?pageSize=1&pageSize=2", ""); status != 400 || !strings.Contains(body, "2 times") {
		t.Errorf("%d %s", status, body)
	}
	status, body := h.ask("GET", "/v1/topics/demo", "")
	var topic struct {
		Topic struct {
			State, Entries string
			Cursors        []any
		}
	}
	if err := json.Unmarshal([]byte(body), &topic); err != nil || status != 200 || topic.Topic.State != "open" || topic.Topic.Entries != "0" || len(topic.Topic.Cursors) > 0 {
		t.Errorf("something was done: %d %s, %v", status, body, err)
	}
	for _, path := range []string{"/v1/topics?pageSize=1", "/v1/topics/demo/cursors?pageSize=1&pageToken=", "/v1/topics/demo/lines?from=latest", "/v1/topics/demo"} {
		if status, body := h.ask("GET", path, ""); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func TestHTTPLinesOnce(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	for i, want := range []string{`{"messages":3,"last":"0:2"}`, `{"messages":3,"duplicates":3}`} {
		if status, body := h.ask("POST", "/v1/topics/demo/lines?producer=curl&first-sequence=1", "message 0\nmessage 1\nmessage 2\n"); status != 200 || strings.TrimSpace(body) != want {
			t.Errorf("time %d: %d %s", i, status, body)
		}
	}
	wantNumbered(t, h.readAll(c, "demo"), 0, 3)
}

func TestHTTPEntries(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{Name: "web"})
	m := text("not\xffUTF-8")
	m.Key, m.Attributes = []byte("k"), map[string]string{"a": "b"}
	for _, m := range []string{"first", ""} {
		if _, err := p.Send(h.ctx(), text("%s", m)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Send(h.ctx(), m); err != nil {
		t.Fatal(err)
	}
	_, body := h.ask("GET", "/v1/topics/demo/entries", "")
	var got []map[string]any
	for line := range strings.Lines(body) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e["publishTime"] == nil || e["producer"] != "web" {
			t.Errorf("%s", line)
		}
		got = append(got, e)
	}
	if len(got) != 3 || got[0]["payload"] != "first" || got[1]["payload"] != "" || got[2]["payloadBase64"] != "bm90/1VURi04" ||
		got[2]["key"] != "k" || got[2]["position"] != "0:2" || fmt.Sprint(got[2]["attributes"]) != "map[a:b]" {
		t.Errorf("%s", body)
	}
}

// A reader that follows over HTTP sees entries as they come, and the end of the
// server.
func TestHTTPFollow(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	q, err := http.NewRequestWithContext(h.ctx(), "GET", h.web+"/v1/topics/demo/lines?follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	web := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := web.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	lines := bufio.NewReader(r.Body)
	for i := range 20 {
		h.sendAll(p, i, 1)
		if line, err := lines.ReadString('\n'); err != nil || line != fmt.Sprintf("message %d\n", i) {
			t.Fatalf("%q, %v", line, err)
		}
	}
	h.stop()
	if line, err := lines.ReadString('\n'); err == nil {
		t.Errorf("behind the end comes %q", line)
	}
	h.start()
}

func TestNotReadyWhenClosing(t *testing.T) {
	h := open(t)
	web := h.server.Handler()
	h.stop()
	for path, want := range map[string]int{"/readyz": 503, "/livez": 200} {
		r := &recorder{}
		q, _ := http.NewRequestWithContext(h.ctx(), "GET", path, nil)
		if web.ServeHTTP(r, q); r.status != want {
			t.Errorf("%s: %d, want %d", path, r.status, want)
		}
	}
	h.start()
}

// recorder keeps the status of an answer.
type recorder struct{ status int }

func (r *recorder) Header() http.Header    { return http.Header{} }
func (r *recorder) WriteHeader(status int) { r.status = status }
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = 200
	}
	return len(b), nil
}
