package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	gateway "github.com/tidemark-engine/tidemark/engine/server/gateway"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// inside is how many bytes the connection inside the process buffers.
const inside = 256 << 10

// web is the HTTP side. It is a client of the gRPC side, over a connection that
// does not leave the process, so that both say the same.
type web struct {
	server  *Server
	http    *http.Server
	gateway *runtime.ServeMux
	conn    *grpc.ClientConn
	inside  *bufconn.Listener
	produce tidemarkv1.ProduceServiceClient
	read    tidemarkv1.ReadServiceClient
}

func newWeb(s *Server) (*web, error) {
	w := &web{server: s, inside: bufconn.Listen(inside)}
	var err error
	w.conn, err = grpc.NewClient("passthrough:///inside",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return w.inside.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(withSlashes),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, err
	}
	w.produce, w.read = tidemarkv1.NewProduceServiceClient(w.conn), tidemarkv1.NewReadServiceClient(w.conn)
	w.gateway = runtime.NewServeMux(
		runtime.WithUnescapingMode(runtime.UnescapingModeAllExceptSlash),
		runtime.WithDisablePathLengthFallback(), // a form that is posted is no GET
		runtime.WithRoutingErrorHandler(routingError),
		runtime.WithMiddlewares(w.withParameters),
		// As the gateway's own, but a field that does not exist is an error.
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &runtime.HTTPBodyMarshaler{
			Marshaler: &runtime.JSONPb{MarshalOptions: protojson.MarshalOptions{EmitUnpopulated: true}},
		}))
	ctx := context.Background() // the gateway uses it for nothing when it is given a client
	if err := errors.Join(
		gateway.RegisterTopicServiceHandlerClient(ctx, w.gateway, tidemarkv1.NewTopicServiceClient(w.conn)),
		gateway.RegisterProduceServiceHandlerClient(ctx, w.gateway, w.produce),
		gateway.RegisterCursorServiceHandlerClient(ctx, w.gateway, tidemarkv1.NewCursorServiceClient(w.conn)),
		w.handleText(),
	); err != nil {
		return nil, err
	}
	w.http = &http.Server{Handler: w.handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.grpc.Serve(w.inside) }() // ends when the gRPC server stops
	return w, nil
}

// slashes puts the slashes into a name from a path, in which they are written
// %2F so that they are told from those between names. No name holds a percent
// sign.
func slashes(name string) string { return strings.NewReplacer("%2F", "/", "%2f", "/").Replace(name) }

// withSlashes does that for the requests that the gateway makes.
func withSlashes(ctx context.Context, method string, request, answer any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if m, ok := request.(proto.Message); ok {
		fields := m.ProtoReflect().Descriptor().Fields()
		for _, name := range []protoreflect.Name{"topic", "cursor"} {
			if field := fields.ByName(name); field != nil && field.Kind() == protoreflect.StringKind {
				text := slashes(m.ProtoReflect().Get(field).String())
				m.ProtoReflect().Set(field, protoreflect.ValueOfString(text))
			}
		}
	}
	return invoke(ctx, method, request, answer, conn, opts...)
}

// Handler returns what [Server.ServeHTTP] serves, for whoever has an HTTP
// server already.
func (s *Server) Handler() http.Handler { return s.web.http.Handler }

// handler finds the page for a path.
func (w *web) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", w.server.meters.handler())
	mux.HandleFunc("GET /livez", func(r http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(r, "ok") })
	mux.HandleFunc("GET /readyz", w.readyz)
	mux.HandleFunc("GET /{$}", w.welcome)
	mux.Handle("/v1/", w.bounded(w.gateway))
	return mux
}

// bounded refuses paths and parameters that are not UTF-8, because they cannot
// be put into a request, and bodies that are larger than any request. Lines are
// not read as a whole.
func (w *web) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(r http.ResponseWriter, q *http.Request) {
		query, err := url.QueryUnescape(q.URL.RawQuery)
		if !utf8.ValidString(q.URL.Path) || err == nil && !utf8.ValidString(query) {
			http.Error(r, fmt.Sprintf("%.300q is not UTF-8", q.URL.Path+"?"+query), http.StatusBadRequest)
			return
		}
		if !strings.HasSuffix(q.URL.Path, "/lines") {
			q.Body = http.MaxBytesReader(r, q.Body, 2*int64(w.server.options.MaxMessageBytes)) // base64 and escapes
		}
		next.ServeHTTP(r, q)
	})
}

// routingError answers requests for which there is no page; the gateway's own
// answer says 501 for a wrong method.
func routingError(ctx context.Context, mux *runtime.ServeMux, m runtime.Marshaler, r http.ResponseWriter, q *http.Request, code int) {
	if code != http.StatusMethodNotAllowed {
		runtime.DefaultRoutingErrorHandler(ctx, mux, m, r, q, code)
		return
	}
	err := status.Errorf(codes.Unimplemented, "%s is not possible here", q.Method)
	runtime.DefaultHTTPErrorHandler(ctx, mux, m, r, q, &runtime.HTTPStatusError{HTTPStatus: code, Err: err})
}

// readyz says whether the server can serve now.
func (w *web) readyz(r http.ResponseWriter, q *http.Request) {
	if err := w.server.ready(q.Context()); err != nil {
		http.Error(r, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(r, "ok")
}

// welcome tells people what they can ask for.
func (w *web) welcome(r http.ResponseWriter, _ *http.Request) {
	r.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintf(r, welcomeText, w.server.options.Version)
}

const welcomeText = `Tidemark %s

GET  /v1/topics                          list topics (PUT, GET, PATCH, DELETE /v1/topics/NAME)
POST /v1/topics/NAME/lines               publish the body, a message a line
GET  /v1/topics/NAME/lines?from=earliest read payloads as lines; follow=true goes on with what comes
GET  /v1/topics/NAME/entries             read as JSON, an object a line
GET  /v1/topics/NAME/cursors             list cursors
GET  /metrics  /livez  /readyz

A slash in a name is written %%2F. All routes, with examples, and all errors: docs/http.md
in the source.
`

// serve serves until shutdown.
func (w *web) serve(l net.Listener) error {
	if err := w.http.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("server: http on %s: %w", l.Addr(), err)
	}
	return nil
}

// shutdown stops accepting and waits for requests to end; streams do because
// the gRPC side ends them.
func (w *web) shutdown(ctx context.Context) error {
	if err := w.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("server: http requests were cut off: %w", err), w.http.Close())
	}
	return nil
}

// close ends the connection inside the process.
func (w *web) close() {
	_ = w.conn.Close()
	_ = w.inside.Close()
}
