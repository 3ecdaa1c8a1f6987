package client

import (
	"errors"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
)

func TestOptions(t *testing.T) {
	for name, o := range map[string]ProducerOptions{
		"anonymous with a name": {Anonymous: true, Name: "x"},
		"negative linger":       {Linger: -1},
		"negative batch":        {MaxBatchBytes: -1},
	} {
		if _, err := o.complete(Options{}); !errors.Is(err, sdk.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (Options{Connections: -1}).complete(); !errors.Is(err, sdk.ErrInvalid) {
		t.Errorf("%v", err)
	}
	o, err := Options{}.complete()
	if err != nil || o.RetryFor != defaultRetryFor || o.Connections != 1 {
		t.Errorf("%+v, %v", o, err)
	}
}
