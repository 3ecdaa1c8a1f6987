package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// Domain is the domain of all error reasons of Tidemark.
const Domain = "tidemark"

// Code returns the canonical code for a reason; Unknown for one that this
// version does not know. An outcome that is unknown is Unknown as well: no
// client library retries that by itself.
func Code(r reason.Reason) codes.Code {
	switch r {
	case "":
		return codes.OK
	case reason.TopicNotFound, reason.CursorNotFound, reason.EntryNotFound, reason.KeyNotFound:
		return codes.NotFound
	case reason.TopicExists, reason.CursorExists:
		return codes.AlreadyExists
	case reason.TopicTerminated, reason.ProducerSequence:
		return codes.FailedPrecondition
	case reason.TopicLimit, reason.Full, reason.Busy:
		return codes.ResourceExhausted
	case reason.OwnerLost, reason.Fenced, reason.VersionConflict, reason.ProducerReplaced, reason.ReadInFlight:
		return codes.Aborted
	case reason.NoMoreEntries:
		return codes.OutOfRange
	case reason.PositionInvalid, reason.InvalidName, reason.InvalidSetting, reason.Invalid, reason.TooLarge:
		return codes.InvalidArgument
	case reason.LedgerNotFound, reason.Corrupt:
		return codes.DataLoss
	case reason.Closed, reason.Unavailable:
		return codes.Unavailable
	case reason.Unsupported:
		return codes.Unimplemented
	case reason.Cancelled:
		return codes.Canceled
	case reason.DeadlineExceeded:
		return codes.DeadlineExceeded
	case reason.Internal:
		return codes.Internal
	}
	return codes.Unknown
}

// Status returns the status that carries err; nil is OK. An err that is a
// status already is passed on. metadata holds facts for programs, for instance
// which topic; it may be nil.
func Status(err error, metadata map[string]string) *status.Status {
	if err == nil {
		return nil
	}
	var carried interface{ GRPCStatus() *status.Status }
	if errors.As(err, &carried) {
		return carried.GRPCStatus()
	}
	r := reason.Of(err)
	st := status.New(Code(r), strings.ToValidUTF8(err.Error(), "\uFFFD"))
	detailed, failed := st.WithDetails(&errdetails.ErrorInfo{Reason: string(r), Domain: Domain, Metadata: metadata})
	if failed != nil { // a fact that is not UTF-8
		return st
	}
	return detailed
}

// Error returns what came with a failed call as an error that errors.Is knows,
// and nil for nil. What did not come from a Tidemark server, a connection that
// cannot be made for instance, becomes the sentinel that fits best.
func Error(err error) error {
	if err == nil {
		return nil
	}
	st, isStatus := status.FromError(err)
	if !isStatus {
		return err
	}
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == Domain {
			return &remote{status: st, cause: reason.Error(reason.Reason(info.GetReason()), st.Message())}
		}
	}
	return &remote{status: st, cause: foreign(st)}
}

// foreign makes an error of a status that carries no reason.
func foreign(st *status.Status) error {
	switch st.Code() {
	case codes.Unavailable:
		return reason.Error(reason.Unavailable, st.Message()) // without "store": it may be the connection
	case codes.Canceled:
		return fmt.Errorf("%w: %s", context.Canceled, st.Message())
	case codes.DeadlineExceeded:
		return fmt.Errorf("%w: %s", context.DeadlineExceeded, st.Message())
	case codes.Unimplemented:
		return fmt.Errorf("%w: %s", sdk.ErrUnsupported, st.Message())
	case codes.InvalidArgument:
		return fmt.Errorf("%w: %s", sdk.ErrInvalid, st.Message())
	case codes.ResourceExhausted: // gRPC's own word for a message above its limit
		return fmt.Errorf("%w: %s", sdk.ErrTooLarge, st.Message())
	}
	return fmt.Errorf("%s: %s", st.Code(), st.Message())
}

// remote is an error that came over the wire.
type remote struct {
	status *status.Status
	cause  error
}

func (e *remote) Error() string              { return e.cause.Error() }
func (e *remote) Unwrap() error              { return e.cause }
func (e *remote) GRPCStatus() *status.Status { return e.status }

// Failure returns err as a part of a stream that goes on; nil stays nil.
func Failure(err error) *tidemarkv1.Error {
	if err == nil {
		return nil
	}
	st := Status(err, nil)
	f := &tidemarkv1.Error{Code: int32(st.Code()), Message: st.Message(), Reason: string(reason.Of(err))}
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			f.Reason, f.Metadata = info.GetReason(), info.GetMetadata()
		}
	}
	return f
}

// FailureError is the other direction of [Failure].
func FailureError(f *tidemarkv1.Error) error {
	if f == nil {
		return nil
	}
	return &remote{
		status: status.New(codes.Code(uint32(f.GetCode())), f.GetMessage()),
		cause:  reason.Error(reason.Reason(f.GetReason()), f.GetMessage()),
	}
}
