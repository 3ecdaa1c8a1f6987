package client

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Where nobody listens that is said at once, with the address.
func TestDialNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := Dial(ctx(), address, Options{})
	if c != nil || !errors.Is(err, sdk.ErrUnavailable) || !strings.Contains(err.Error(), "cannot reach "+address+", is the daemon running?") {
		t.Errorf("%v", err)
	}
}

func TestDialAddresses(t *testing.T) {
	for _, address := range []string{"", "localhost", "localhost:", "::1", "http://localhost:7070/"} {
		if _, err := Dial(ctx(), address, Options{}); !errors.Is(err, sdk.ErrInvalid) || !strings.Contains(err.Error(), "HOST:PORT") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// With a deadline Dial waits for a server that is about to come. One whose disk
// is full is not ready, and can be talked to.
func TestDialWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		within := func(limit time.Duration) (*Client, error) {
			ctx, cancel := context.WithTimeout(ctx(), limit)
			defer cancel()
			return Dial(ctx, "fake", Options{Dialer: f.connect})
		}
		if _, err := within(5 * time.Second); !errors.Is(err, sdk.ErrUnavailable) {
			t.Errorf("nobody there: %v", err)
		}
		go func() {
			time.Sleep(3 * time.Second)
			f.start()
		}()
		began := time.Now()
		c, err := within(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer f.close(c)
		if took := time.Since(began); took < 3*time.Second || took > 3*time.Second+long {
			t.Errorf("it took %v", took)
		}
		f.health.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
		full, err := Dial(ctx(), "fake", Options{Dialer: f.connect})
		if err != nil {
			t.Fatalf("not serving: %v", err)
		}
		if err := full.Close(ctx()); err != nil {
			t.Error(err)
		}
	})
}
