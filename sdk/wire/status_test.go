package wire

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// Every reason crosses as a status and as part of a stream, and is the same
// sentinel on the other side.
func TestEveryReasonCrosses(t *testing.T) {
	for _, r := range reason.All() {
		t.Run(string(r), func(t *testing.T) {
			here := fmt.Errorf("topic %q: append: %w", "demo", reason.Error(r, "it happened"))
			code := Code(r)
			if code == codes.OK || (code == codes.Unknown) != (r == reason.UnknownOutcome) {
				t.Errorf("code %v", code)
			}
			for way, there := range map[string]error{
				"status": Error(Status(here, map[string]string{"topic": "demo"}).Err()),
				"stream": FailureError(Failure(here)),
				"twice":  Error(Status(Error(Status(here, nil).Err()), nil).Err()),
			} {
				if reason.Of(there) != r || there.Error() != here.Error() || status.Code(there) != code {
					t.Errorf("%s: %s %v %v", way, reason.Of(there), status.Code(there), there)
				}
				if sentinel := errors.Unwrap(reason.Error(r, "")); sentinel != nil && !errors.Is(there, sentinel) {
					t.Errorf("%s: is not %v", way, sentinel)
				}
			}
		})
	}
}

func TestMetadataCrosses(t *testing.T) {
	st := Status(sdk.ErrTooLarge, map[string]string{"limit": "5242880"})
	if f := Failure(st.Err()); f.GetMetadata()["limit"] != "5242880" || f.GetReason() != "TOO_LARGE" {
		t.Errorf("%v", f)
	}
}

func TestForeignStatus(t *testing.T) {
	for code, want := range map[codes.Code]error{
		codes.Unavailable:       sdk.ErrUnavailable,
		codes.Canceled:          context.Canceled,
		codes.DeadlineExceeded:  context.DeadlineExceeded,
		codes.Unimplemented:     sdk.ErrUnsupported,
		codes.InvalidArgument:   sdk.ErrInvalid,
		codes.ResourceExhausted: sdk.ErrTooLarge,
	} {
		if err := Error(status.Error(code, "no connection")); !errors.Is(err, want) || status.Code(err) != code {
			t.Errorf("%v became %v", code, err)
		}
	}
	if err := Error(status.Error(codes.Internal, "boom")); reason.Of(err) != reason.Internal {
		t.Errorf("%v", err)
	}
	plain := errors.New("plain")
	if Error(plain) != plain || Error(nil) != nil || Status(nil, nil) != nil || Failure(nil) != nil || FailureError(nil) != nil {
		t.Error("nil or plain errors changed")
	}
}

func TestMessageThatIsNotUTF8(t *testing.T) {
	st := Status(fmt.Errorf("name \xff: %w", sdk.ErrInvalid), nil)
	if _, err := proto.Marshal(st.Proto()); err != nil {
		t.Error(err)
	}
	if err := Error(st.Err()); !errors.Is(err, sdk.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// What a server lets a client do is at least what a client does.
func TestKeepaliveFits(t *testing.T) {
	if MinClientPing > ClientPing {
		t.Errorf("a client pings every %v, a server allows every %v", ClientPing, MinClientPing)
	}
	if FrameSlack+DefaultFrame > DefaultMaxMessage {
		t.Error("a frame does not fit in a message")
	}
}
