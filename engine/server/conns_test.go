package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestS071SilentConnections closes a server to which people are connected who
// have not said anything, or only half of it.
func TestS071SilentConnections(t *testing.T) {
	h := open(t)
	for _, address := range []string{h.address, strings.TrimPrefix(h.web, "http://")} {
		for _, half := range []string{"", "PRI * HT", "GET /livez HT"} {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, half); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.dial() // accepted after those above
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := h.server.Close(ctx); err != nil {
		t.Error(err)
	}
}

// TestHTTPBadRequests sends requests that are nobody's but the client's fault.
func TestHTTPBadRequests(t *testing.T) {
	h := open(t, func(h *house) { h.options.MaxMessageBytes = 6 << 20 })
	h.dial("demo")
	for _, c := range []struct {
		method, path, body string
		status             int
		holds              string
	}{
		{"GET", "/v1/topics/a%ffb", "", 400, "UTF-8"},
		{"GET", "/v1/topics?pageToken=%ff", "", 400, "UTF-8"},
		{"PUT", "/v1/topics/demo/cursors/c%ff", "{}", 400, "UTF-8"},
		{"POST", "/v1/topics/demo", "{}", 405, "POST"},
		{"POST", "/v1/topics/demo/entries", "a=b", 405, "POST"},
		{"PUT", "/v1/topics/big", `{"overrides":{"a":"` + strings.Repeat("x", 13<<20) + `"}}`, 400, "too large"},
	} {
		if code, text := h.ask(c.method, c.path, c.body); code != c.status || !strings.Contains(text, c.holds) {
			t.Errorf("%s %s: %d %.300s, want %d and %q", c.method, c.path, code, text, c.status, c.holds)
		}
	}
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	if code, text := h.send("POST", "/v1/topics/demo/entries", "a=b", form); code != 405 {
		t.Errorf("a form: %d %.300s", code, text)
	}
}

// TestHTTPBrokenBody publishes lines in a body whose encoding is broken.
func TestHTTPBrokenBody(t *testing.T) {
	h := open(t)
	h.dial("demo")
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.web, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /v1/topics/demo/lines HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n")
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
		t.Errorf("%s, %v", answer, err)
	}
}
