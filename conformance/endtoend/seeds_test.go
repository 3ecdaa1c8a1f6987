package endtoend

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// rounds runs test with several seeds, each named in its sub-test's name.
func rounds(t *testing.T, usual int, test func(t *testing.T, random *rand.Rand)) {
	if text := os.Getenv("TIDEMARK_ROUNDS"); text != "" {
		more, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("TIDEMARK_ROUNDS: %v", err)
		}
		usual = more
	}
	seeds := []uint64{}
	if text := os.Getenv("TIDEMARK_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("TIDEMARK_SEED: %v", err)
		}
		seeds = append(seeds, seed)
	} else {
		for range usual {
			seeds = append(seeds, uint64(time.Now().UnixNano()))
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Logf("replay with TIDEMARK_SEED=%d", seed)
			test(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}
