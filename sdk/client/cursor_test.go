package client

import (
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

func opened(next int) *tidemarkv1.ConsumeResponse {
	return &tidemarkv1.ConsumeResponse{Frame: &tidemarkv1.ConsumeResponse_Opened{Opened: &tidemarkv1.ConsumeOpened{Next: at(next)}}}
}
