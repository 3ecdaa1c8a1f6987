package wire

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// ParseStart reads where to begin as people write it: earliest, latest, a
// position LEDGER:ENTRY, a time such as 2030-01-31T12:00:00Z or 2030-01-31, or
// @NAME for where a cursor stands. [sdk.ErrInvalid].
func ParseStart(text string) (*tidemarkv1.Start, error) {
	switch text {
	case "earliest":
		return &tidemarkv1.Start{Start: &tidemarkv1.Start_Edge{Edge: tidemarkv1.Edge_EDGE_EARLIEST}}, nil
	case "latest":
		return &tidemarkv1.Start{Start: &tidemarkv1.Start_Edge{Edge: tidemarkv1.Edge_EDGE_LATEST}}, nil
	}
	if cursor, found := strings.CutPrefix(text, "@"); found && cursor != "" {
		return &tidemarkv1.Start{Start: &tidemarkv1.Start_Cursor{Cursor: cursor}}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return &tidemarkv1.Start{Start: &tidemarkv1.Start_Time{Time: timestamppb.New(t)}}, nil
		}
	}
	if p, err := sdk.ParsePosition(text); err == nil {
		at := &tidemarkv1.Position{Ledger: int64(p.Ledger), Entry: int64(p.Entry)}
		return &tidemarkv1.Start{Start: &tidemarkv1.Start_At{At: at}}, nil
	}
	return nil, fmt.Errorf("%w: %.300q is neither earliest, latest, a position LEDGER:ENTRY, a time like 2030-01-31T12:00:00Z, nor @CURSOR", sdk.ErrInvalid, text)
}
