package quantity_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/engine/quantity"
)

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  int64
		fault string
	}{
		{"0", 0, ""}, {"0B", 0, ""}, {"512B", 512, ""}, {"64MiB", 64 << 20, ""}, {"64 MiB", 64 << 20, ""},
		{"1.5GiB", 3 << 29, ""}, {"2GB", 2_000_000_000, ""}, {"unlimited", quantity.Unlimited, ""},
		{"64", 0, "has no unit"}, {"-1", 0, "is not a size"}, {"-1MiB", 0, "is not a size"}, {"", 0, "is not a size"},
		{"MiB", 0, "is not a size"}, {"64 bananas", 0, "is not a size"}, {"9000000PiB", 0, "size"}, {"NaN", 0, "is not a size"},
	} {
		got, err := quantity.ParseSize(c.text)
		check(t, c.text, got, c.want, err, c.fault)
	}
}

func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  time.Duration
		fault string
	}{
		{"0", 0, ""}, {"0s", 0, ""}, {"250ms", 250 * time.Millisecond, ""}, {"1h30m", 90 * time.Minute, ""},
		{"7d", 168 * time.Hour, ""}, {"1d12h", 36 * time.Hour, ""}, {"unlimited", quantity.Unlimited, ""},
		{"30", 0, "has no unit"}, {"-3s", 0, "is not a duration"}, {"", 0, "is not a duration"}, {"d", 0, "is not a duration"},
		{"-1d", 0, "is not a duration"}, {"1d-1h", 0, "is not a duration"}, {"soon", 0, "is not a duration"},
		{"999999999999d", 0, "is not a duration"}, {"106751d23h59m59s", 0, "is not a duration"}, {"5d3", 0, "has no unit"},
	} {
		got, err := quantity.ParseDuration(c.text)
		check(t, c.text, got, c.want, err, c.fault)
	}
}

func check[T comparable](t *testing.T, text string, got, want T, err error, fault string) {
	t.Helper()
	switch {
	case fault == "" && err != nil:
		t.Errorf("%q: %v", text, err)
	case fault == "" && got != want:
		t.Errorf("%q is %v, want %v", text, got, want)
	case fault != "" && (err == nil || !strings.Contains(err.Error(), fault)):
		t.Errorf("%q: got %v and error %v, want one that says %q", text, got, err, fault)
	}
}

func TestFormat(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1: "1B", 1023: "1023B", 1024: "1KiB", 1536: "1536B", 64 << 20: "64MiB", 2 << 30: "2GiB", quantity.Unlimited: "unlimited"} {
		if got := quantity.FormatSize(n); got != want {
			t.Errorf("size %d: %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0s", time.Second: "1s", 90 * time.Minute: "1h30m", 4 * time.Hour: "4h", 168 * time.Hour: "7d", 36 * time.Hour: "1d12h", 10 * time.Second: "10s", 10 * time.Minute: "10m", quantity.Unlimited: "unlimited"} {
		if got := quantity.FormatDuration(d); got != want {
			t.Errorf("duration %d: %s, want %s", d, got, want)
		}
	}
}

// What is formatted is read back as the same, and reading never panics.
func FuzzRoundTrip(f *testing.F) {
	f.Add(int64(1<<40+1), "1d2h")
	f.Fuzz(func(t *testing.T, n int64, text string) {
		n = max(n, -1)
		if got, err := quantity.ParseDuration(quantity.FormatDuration(time.Duration(n))); err != nil || got != time.Duration(n) {
			t.Errorf("%d became %v, %v by way of %s", n, got, err, quantity.FormatDuration(time.Duration(n)))
		}
		if size, err := quantity.ParseSize(text); err == nil && size < quantity.Unlimited {
			t.Errorf("size %q is %d", text, size)
		}
		if d, err := quantity.ParseDuration(text); err == nil && d < quantity.Unlimited {
			t.Errorf("duration %q is %d", text, d)
		}
	})
}

// Sizes up to 2^53 survive the way through text; beyond, a decimal point in
// the reading library could round, and no setting is that large.
func FuzzSizeRoundTrip(f *testing.F) {
	f.Add(int64(1536))
	f.Fuzz(func(t *testing.T, n int64) {
		n = max(n%(1<<53), -1)
		if got, err := quantity.ParseSize(quantity.FormatSize(n)); err != nil || got != n {
			t.Errorf("%d became %d, %v by way of %s", n, got, err, quantity.FormatSize(n))
		}
	})
}
