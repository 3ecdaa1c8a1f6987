package client

import (
	"errors"
	"fmt"
	"testing"
)

func TestErrorsNameTheTopicOnce(t *testing.T) {
	cut := errors.New("cut off")
	for _, c := range []struct {
		err  error
		want string
	}{
		{cut, `client: read: topic "demo": cut off`},
		{fmt.Errorf("topic %q: read: %w", "demo", cut), `client: read: topic "demo": read: cut off`},
		{fmt.Errorf("topic %q: %w", "demo/other", cut), `client: read: topic "demo": topic "demo/other": cut off`},
	} {
		if err := about("demo", "read", c.err); err.Error() != c.want || !errors.Is(err, cut) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
