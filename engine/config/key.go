package config

import (
	"reflect"
	"strings"
	"time"
)

// EnvironmentPrefix begins the name of every environment variable of the
// configuration: log.level is TIDEMARK_LOG_LEVEL.
const EnvironmentPrefix = "TIDEMARK_"

// key is one value of the configuration: a leaf of the struct.
type key struct {
	path    string // log.level
	doc     string
	field   []int // for reflect.Value.FieldByIndex
	kind    kind
	live    bool
	min     string // as people write it; empty: the kind's own bound
	max     string
	checks  []string
	choices []string // what it may be; empty: anything
}

// environment is the name of the key's environment variable.
func (k *key) environment() string {
	return EnvironmentPrefix + strings.NewReplacer(".", "_", "-", "_").Replace(strings.ToUpper(k.path))
}

func (k *key) unlimited() bool { return k.min == "unlimited" }

// section is an inner struct of the configuration.
type section struct{ path, doc string }

// outline is the shape of the configuration: all keys and sections, in the
// order of the struct.
type outline struct {
	keys     []*key
	sections []section
	byPath   map[string]*key
}

// outlineOf reads the shape off a struct's tags. choices are further values to
// choose from, by path of the key, which only the caller knows.
func outlineOf(of reflect.Type, choices map[string][]string) *outline {
	o := &outline{byPath: map[string]*key{}}
	o.add(of, "", nil)
	for _, k := range o.keys {
		if more := choices[k.path]; len(more) > 0 {
			k.choices = more
		}
	}
	return o
}

func (o *outline) add(of reflect.Type, prefix string, index []int) {
	for i := range of.NumField() {
		field := of.Field(i)
		path := prefix + field.Tag.Get("key")
		at := append(append([]int(nil), index...), i)
		kind, leaf := kindOf(field.Type)
		if !leaf {
			o.sections = append(o.sections, section{path, field.Tag.Get("doc")})
			o.add(field.Type, path+".", at)
			continue
		}
		k := &key{
			path:    path,
			doc:     field.Tag.Get("doc"),
			field:   at,
			kind:    kind,
			live:    field.Tag.Get("live") == "true",
			min:     field.Tag.Get("min"),
			max:     field.Tag.Get("max"),
			checks:  split(field.Tag.Get("check")),
			choices: split(field.Tag.Get("oneof")),
		}
		o.keys = append(o.keys, k)
		o.byPath[path] = k
	}
}

func (o *outline) isSection(path string) bool {
	for _, s := range o.sections {
		if s.path == path {
			return true
		}
	}
	return false
}

// names lists the paths of all keys and sections.
func (o *outline) names() []string {
	var names []string
	for _, k := range o.keys {
		names = append(names, k.path)
	}
	for _, s := range o.sections {
		names = append(names, s.path)
	}
	return names
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// value returns the key's value in a configuration.
func (k *key) value(config reflect.Value) any { return config.FieldByIndex(k.field).Interface() }

// kind is what sort of value a key has.
type kind uint8

const (
	kindText kind = iota
	kindSecret
	kindFlag
	kindCount
	kindRatio
	kindSize
	kindDuration
)

// kindOf tells the kinds of leaves; false means a section.
func kindOf(of reflect.Type) (kind, bool) {
	switch of {
	case reflect.TypeFor[string]():
		return kindText, true
	case reflect.TypeFor[Secret]():
		return kindSecret, true
	case reflect.TypeFor[bool]():
		return kindFlag, true
	case reflect.TypeFor[int64]():
		return kindCount, true
	case reflect.TypeFor[float64]():
		return kindRatio, true
	case reflect.TypeFor[Size]():
		return kindSize, true
	case reflect.TypeFor[time.Duration]():
		return kindDuration, true
	}
	return 0, false
}
