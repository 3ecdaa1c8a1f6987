package config

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// schemaNode is a JSON schema, as far as a configuration needs one.
type schemaNode struct {
	Schema      string                 `json:"$schema,omitempty"`
	Title       string                 `json:"title,omitempty"`
	Description string                 `json:"description,omitempty"`
	Type        any                    `json:"type"`
	Enum        []string               `json:"enum,omitempty"`
	Pattern     string                 `json:"pattern,omitempty"`
	Minimum     *float64               `json:"minimum,omitempty"`
	Maximum     *float64               `json:"maximum,omitempty"`
	Default     any                    `json:"default,omitempty"`
	Properties  map[string]*schemaNode `json:"properties,omitempty"`
	Additional  *bool                  `json:"additionalProperties,omitempty"`
}

// Schema returns a JSON schema of the configuration, for editors. choices are
// as in [Sources].
func Schema(choices map[string][]string) ([]byte, error) {
	o := outlineOf(reflect.TypeFor[Config](), choices)
	root := newSchemaSection("")
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "Configuration of Tidemark"
	root.Type = "object"
	for _, s := range o.sections {
		parent, name := root.at(s.path)
		parent.Properties[name] = newSchemaSection(s.doc)
	}
	defaults := reflect.ValueOf(Default())
	for _, k := range o.keys {
		parent, name := root.at(k.path)
		parent.Properties[name] = k.schema(k.value(defaults))
	}
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

// newSchemaSection describes a section; an empty one is null in YAML.
func newSchemaSection(doc string) *schemaNode {
	return &schemaNode{Description: doc, Type: []string{"object", "null"}, Properties: map[string]*schemaNode{}, Additional: new(bool)}
}

// at returns the section that holds path, and path's last part.
func (n *schemaNode) at(path string) (parent *schemaNode, name string) {
	parts := strings.Split(path, ".")
	for _, part := range parts[:len(parts)-1] {
		n = n.Properties[part]
	}
	return n, parts[len(parts)-1]
}

const (
	sizePattern     = `[0-9]+(\.[0-9]+)? ?([KMGTP]i?)?B`
	durationPattern = `([0-9]+d)?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))*`
)

func (k *key) schema(standard any) *schemaNode {
	n := &schemaNode{Description: k.doc, Default: standard, Enum: slices.Clone(k.choices)}
	switch k.kind {
	case kindText, kindSecret:
		n.Type = "string"
	case kindFlag:
		n.Type = "boolean"
	case kindCount:
		n.Type = "integer"
	case kindRatio:
		n.Type = "number"
	case kindSize:
		n.Type, n.Pattern = []string{"string", "integer"}, k.pattern(sizePattern)
	case kindDuration:
		n.Type, n.Pattern = []string{"string", "integer"}, k.pattern(durationPattern)
	}
	switch standard.(type) {
	case Size, time.Duration:
		n.Default = format(standard)
		n.Minimum, n.Maximum = new(float64), new(float64) // the number 0 is the only one without a unit
		return n
	}
	if value, err := k.kind.parse(k.min); err == nil {
		n.Minimum = bound(value)
	}
	if value, err := k.kind.parse(k.max); err == nil {
		n.Maximum = bound(value)
	}
	return n
}

func bound(value any) *float64 {
	if n, numeric := number(value); numeric {
		return &n
	}
	return nil
}

func (k *key) pattern(base string) string {
	if k.unlimited() {
		return "^(" + base + "|0|unlimited)$"
	}
	return "^(" + base + "|0)$"
}
