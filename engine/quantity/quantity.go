// Package quantity reads and writes sizes and durations as people write them:
// 64MiB, 90s, 7d. A number without its unit is refused, because 30 means
// seconds to one reader and nanoseconds to another.
package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Unlimited is the size or duration that stands for "no limit", written
// "unlimited". Where a setting may have it is said by the setting.
const Unlimited = -1

const (
	unlimited = "unlimited"
	day       = 24 * time.Hour
)

// ParseSize reads a number of bytes with its unit: 512B, 64MiB, 1.5GiB, 2GB
// (powers of 1000); 0 needs no unit; or unlimited.
func ParseSize(text string) (int64, error) {
	if text == unlimited {
		return Unlimited, nil
	}
	n, err := humanize.ParseBytes(text)
	switch {
	case err != nil || strings.HasPrefix(text, "-"):
		return 0, fmt.Errorf("%q is not a size, for instance 64MiB", text)
	case n > math.MaxInt64:
		return 0, fmt.Errorf("%q is larger than any size", text)
	case n > 0 && endsInDigit(text):
		return 0, fmt.Errorf("%q has no unit, for instance %sMiB or %sB", text, text, text)
	}
	return int64(n), nil
}

// FormatSize writes n with the largest unit in which it is a whole number;
// [ParseSize] reads exactly n back.
func FormatSize(n int64) string {
	if n == Unlimited {
		return unlimited
	}
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for n != 0 && n%1024 == 0 && i < len(units)-1 {
		n /= 1024
		i++
	}
	return strconv.FormatInt(n, 10) + units[i]
}

// ParseDuration reads a time span with its units: 250ms, 90s, 1h30m, 7d (days
// of 24 hours, which come first); 0 needs no unit; or unlimited.
func ParseDuration(text string) (time.Duration, error) {
	if text == unlimited {
		return Unlimited, nil
	}
	days, rest, err := cutDays(text)
	if err == nil && rest != "" {
		var more time.Duration
		more, err = time.ParseDuration(rest)
		if days > math.MaxInt64-more {
			err = strconv.ErrRange
		}
		days += more
	}
	switch {
	case err != nil && endsInDigit(text):
		return 0, fmt.Errorf("%q has no unit, for instance %ss or %sms", text, text, text)
	case err != nil || text == "" || days < 0 || strings.ContainsAny(text, "+-"):
		return 0, fmt.Errorf("%q is not a duration, for instance 90s, 4h or 7d", text)
	}
	return days, nil
}

// cutDays splits 7d12h into seven days and 12h.
func cutDays(text string) (days time.Duration, rest string, err error) {
	number, rest, found := strings.Cut(text, "d")
	if !found {
		return 0, text, nil
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || n > uint64(math.MaxInt64/day) {
		return 0, "", strconv.ErrRange
	}
	return time.Duration(n) * day, rest, nil
}

// FormatDuration writes d without the units that are zero; [ParseDuration]
// reads exactly d back.
func FormatDuration(d time.Duration) string {
	if d == Unlimited {
		return unlimited
	}
	days := d / day
	text := (d - days*day).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	switch {
	case days == 0:
		return text
	case text == "0s":
		return strconv.FormatInt(int64(days), 10) + "d"
	}
	return strconv.FormatInt(int64(days), 10) + "d" + text
}

func endsInDigit(text string) bool {
	return text != "" && text[len(text)-1] >= '0' && text[len(text)-1] <= '9'
}
