package memory_test

import (
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/storage"
	"github.com/tidemark-engine/tidemark/plugins/memory"
)

func TestContract(t *testing.T) {
	storage.Run(t, storage.Harness{Open: func(string) (storage.Store, error) {
		s := memory.Open()
		return storage.Store{Plugin: s, Ledgers: s, Metadata: s.Metadata()}, nil
	}})
}
