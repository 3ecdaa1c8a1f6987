package pebble_test

import (
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/storage"
	"github.com/tidemark-engine/tidemark/plugins/pebble"
)

func TestContract(t *testing.T) {
	storage.Run(t, storage.Harness{Open: func(dir string) (storage.Store, error) {
		s, err := pebble.Open(dir, pebble.Options{MemTableBytes: 4 << 20})
		if err != nil {
			return storage.Store{}, err
		}
		return storage.Store{Plugin: s, Ledgers: s, Metadata: s.Metadata()}, nil
	}})
}
