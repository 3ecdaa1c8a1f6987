package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark-engine/tidemark/engine/quantity"
)

// parse reads a value from text, as flags and the environment have it.
func (k *key) parse(text string) (any, error) {
	value, err := k.kind.parse(text)
	if err != nil {
		return nil, err
	}
	return value, k.check(value)
}

func (k kind) parse(text string) (any, error) {
	switch k {
	case kindSecret:
		return NewSecret(text), nil
	case kindFlag:
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("%q is neither true nor false", text)
		}
		return text == "true", nil
	case kindCount:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number", text)
		}
		return n, nil
	case kindRatio:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%q is not a number, for instance 0.9", text)
		}
		return f, nil
	case kindSize:
		n, err := quantity.ParseSize(text)
		return Size(n), err
	case kindDuration:
		d, err := quantity.ParseDuration(text)
		return d, err
	}
	return text, nil
}

// convert takes a value as a file has it. Nothing is bent: text is not a
// number, a number is not a flag. Only formats that have one kind of number
// may write whole ones as others.
func (k *key) convert(raw any) (any, error) {
	value, err := k.kind.convert(raw)
	if err != nil {
		return nil, err
	}
	return value, k.check(value)
}

func (k kind) convert(raw any) (any, error) {
	switch raw := raw.(type) {
	case nil:
		return nil, errors.New("no value given; remove the key or give it one")
	case string:
		if k == kindText || k == kindSecret || k == kindSize || k == kindDuration {
			return k.parse(raw)
		}
	case bool:
		if k == kindFlag {
			return raw, nil
		}
	case int:
		return k.number(int64(raw))
	case int64:
		return k.number(raw)
	case uint64:
		if raw <= math.MaxInt64 {
			return k.number(int64(raw))
		}
	case float64:
		if k == kindRatio && !math.IsNaN(raw) && !math.IsInf(raw, 0) {
			return raw, nil
		}
		if raw == math.Trunc(raw) && math.Abs(raw) < 1<<53 {
			return k.number(int64(raw))
		}
	}
	if k == kindSecret {
		return nil, fmt.Errorf("%s is not %s", nameOf(raw), k)
	}
	return nil, fmt.Errorf("%v (%s) is not %s", raw, nameOf(raw), k)
}

func (k kind) number(n int64) (any, error) {
	switch {
	case k == kindCount:
		return n, nil
	case k == kindRatio:
		return float64(n), nil
	case k == kindSize || k == kindDuration:
		return k.parse(strconv.FormatInt(n, 10)) // 0, or the error about the unit
	}
	if k == kindSecret {
		return nil, fmt.Errorf("a number is not %s", k)
	}
	return nil, fmt.Errorf("%d (a number) is not %s", n, k)
}

// String names the kind for messages, with its article.
func (k kind) String() string {
	return [...]string{
		"a text; put it in quotes", "a text; put it in quotes", "true or false", "a whole number",
		"a number", "a size, for instance 64MiB", "a duration, for instance 90s",
	}[k]
}

func nameOf(raw any) string {
	switch raw.(type) {
	case string:
		return "a text"
	case bool:
		return "a truth value"
	case int, int64, uint64, float64:
		return "a number"
	case []any:
		return "a list"
	}
	return fmt.Sprintf("%T", raw)
}

// format writes a value as people write it; parse reads it back.
func format(value any) string {
	switch value := value.(type) {
	case Size:
		return quantity.FormatSize(int64(value))
	case time.Duration:
		return quantity.FormatDuration(value)
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}

// check holds a value against the key's limits.
func (k *key) check(value any) error {
	if err := k.checkRange(value); err != nil {
		return err
	}
	text := format(value)
	if len(k.choices) > 0 && !slices.Contains(k.choices, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(k.choices, ", "))
	}
	for _, check := range k.checks {
		switch {
		case check == "required" && text == "":
			return errors.New("must not be empty")
		case check == "address" && text != "":
			if err := checkAddress(text); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkAddress(text string) error {
	_, port, err := net.SplitHostPort(text)
	if n, errPort := strconv.ParseUint(port, 10, 16); err != nil || errPort != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%q is not HOST:PORT, for instance 127.0.0.1:7420", text)
	}
	return nil
}

func (k *key) checkRange(value any) error {
	n, numeric := number(value)
	if !numeric {
		return nil
	}
	if n == quantity.Unlimited && k.unlimited() {
		return nil
	}
	low, high := k.bounds()
	switch {
	case n < low && k.kind != kindCount && k.kind != kindRatio && n < 0:
		return fmt.Errorf("cannot be %s", format(value))
	case n < low:
		return fmt.Errorf("%s is below %s, the least", format(value), k.min)
	case n > high:
		return fmt.Errorf("%s is above %s, the most", format(value), k.max)
	}
	return nil
}

// bounds returns the least and the largest number the key may have.
func (k *key) bounds() (low, high float64) {
	low, high = 0, math.Inf(1)
	if k.kind == kindCount || k.kind == kindRatio {
		low = math.Inf(-1)
	}
	if value, err := k.kind.parse(k.min); err == nil && !k.unlimited() {
		low, _ = number(value)
	}
	if value, err := k.kind.parse(k.max); err == nil {
		high, _ = number(value)
	}
	return low, high
}

func number(value any) (n float64, ok bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case float64:
		return value, true
	case Size:
		return float64(value), true
	case time.Duration:
		return float64(value), true
	}
	return 0, false
}
