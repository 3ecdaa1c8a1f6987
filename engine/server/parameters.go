package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// parameters returns what may stand behind the question mark of a route.
func parameters(method, pattern string) []string {
	switch method + " " + pattern {
	case "GET /v1/topics", "GET /v1/topics/{topic=*}/cursors":
		return []string{"pageSize", "pageToken"}
	case "POST /v1/topics/{topic=*}/lines":
		return []string{"producer", "first-sequence"}
	case "GET /v1/topics/{topic=*}/lines", "GET /v1/topics/{topic=*}/entries":
		return []string{"from", "follow", "max"}
	}
	return nil
}

// withParameters refuses what else stands there; the gateway would pass over it.
func (w *web) withParameters(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(r http.ResponseWriter, q *http.Request, path map[string]string) {
		pattern, _ := runtime.HTTPPattern(q.Context())
		if err := checkQuery(q.URL.RawQuery, parameters(q.Method, pattern.String())); err != nil {
			w.refuse(r, q, err)
			return
		}
		next(r, q, path)
	}
}

// checkQuery checks that a query holds each of these parameters once at most,
// and no other.
func checkQuery(query string, names []string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("%w: the query %.300q: %w", sdk.ErrInvalid, query, err)
	}
	for name, values := range values {
		switch {
		case !slices.Contains(names, name) && len(names) == 0:
			return fmt.Errorf("%w: parameter %.300q; there are none here", sdk.ErrInvalid, name)
		case !slices.Contains(names, name):
			return fmt.Errorf("%w: parameter %.300q; there are %s", sdk.ErrInvalid, name, strings.Join(names, ", "))
		case len(values) > 1:
			return fmt.Errorf("%w: parameter %q is given %d times", sdk.ErrInvalid, name, len(values))
		}
	}
	return nil
}

// refuse answers with an error, in the form of the gateway.
func (w *web) refuse(r http.ResponseWriter, q *http.Request, err error) {
	_, outbound := runtime.MarshalerForRequest(w.gateway, q)
	runtime.HTTPError(q.Context(), w.gateway, outbound, r, q, wire.Status(err, nil).Err())
}
