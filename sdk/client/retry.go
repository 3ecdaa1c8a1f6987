package client

import (
	"encoding/json"
	"slices"
	"strings"

	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// passing says whether an error is of the kind that goes away by itself, so
// that trying again within some time makes sense.
func passing(err error) bool {
	return slices.Contains([]reason.Reason{
		reason.Unavailable, reason.Closed, reason.Busy, reason.OwnerLost, reason.Fenced, reason.UnknownOutcome, reason.ProducerSequence,
	}, reason.Of(err))
}

// harmless are the calls that may be repeated: done twice they do the same as
// once.
func harmless() []string {
	return []string{
		tidemarkv1.TopicService_CreateTopic_FullMethodName, tidemarkv1.TopicService_ListTopics_FullMethodName,
		tidemarkv1.TopicService_DescribeTopic_FullMethodName, tidemarkv1.TopicService_UpdateTopic_FullMethodName,
		tidemarkv1.TopicService_TerminateTopic_FullMethodName, tidemarkv1.TopicService_DeleteTopic_FullMethodName,
		tidemarkv1.CursorService_ListCursors_FullMethodName, tidemarkv1.CursorService_DescribeCursor_FullMethodName,
		tidemarkv1.CursorService_SeekCursor_FullMethodName, tidemarkv1.CursorService_AcknowledgeEntries_FullMethodName,
		tidemarkv1.CursorService_DeleteCursor_FullMethodName,
	}
}

// serviceConfig has gRPC try harmless calls a few times when a connection has
// just broken.
func serviceConfig() string {
	type name struct {
		Service string `json:"service"`
		Method  string `json:"method"`
	}
	var names []name
	for _, full := range harmless() {
		service, method, _ := strings.Cut(strings.TrimPrefix(full, "/"), "/")
		names = append(names, name{service, method})
	}
	text, err := json.Marshal(map[string]any{"methodConfig": []any{map[string]any{
		"name": names,
		"retryPolicy": map[string]any{
			"maxAttempts": 5, "initialBackoff": "0.05s", "maxBackoff": "0.5s", "backoffMultiplier": 2,
			"retryableStatusCodes": []string{"UNAVAILABLE"},
		},
	}}})
	if err != nil {
		panic(err) // of constants
	}
	return string(text)
}
