package client

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc"

	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// checkNames refuses names that cannot be sent: on a stream that many share one
// of them would end the stream for all. What else a name must be the server
// says.
func checkNames(names ...string) error {
	for _, name := range names {
		if !utf8.ValidString(name) {
			return fmt.Errorf("client: %w: %.300q is not UTF-8", reason.ErrInvalidName, name)
		}
	}
	return nil
}

// about says what was being done to a topic. It names the topic unless the
// server has done so.
func about(topic, doing string, err error) error {
	name := fmt.Sprintf("topic %q", topic)
	if strings.Contains(err.Error(), name) {
		return fmt.Errorf("client: %s: %w", doing, err)
	}
	return fmt.Errorf("client: %s: %s: %w", doing, name, err)
}

// unary stands around every call with one answer.
func unary(ctx context.Context, method string, request, answer any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if err := checkRequest(request); err != nil {
		return err
	}
	return wire.Error(invoke(ctx, method, request, answer, conn, opts...))
}

// checkRequest checks the names in a request.
func checkRequest(request any) error {
	var names []string
	if r, ok := request.(interface{ GetTopic() string }); ok {
		names = append(names, r.GetTopic())
	}
	if r, ok := request.(interface{ GetCursor() string }); ok {
		names = append(names, r.GetCursor())
	}
	if r, ok := request.(interface{ GetStart() *tidemarkv1.Start }); ok {
		names = append(names, r.GetStart().GetCursor())
	}
	if r, ok := request.(interface{ GetOverrides() map[string]string }); ok {
		for name, value := range r.GetOverrides() {
			names = append(names, name, value)
		}
	}
	return checkNames(names...)
}
