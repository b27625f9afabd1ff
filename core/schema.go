package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Schema is the part of JSON Schema that describes a tool's arguments: types,
// properties, required, enum, default, items, minimum, maximum, minLength,
// maxLength, minItems, maxItems and additionalProperties. Keywords beyond
// these stay in the JSON that the model sees and are not checked.
type Schema struct {
	raw  json.RawMessage
	root *node
}

// node is one level of a schema.
type node struct {
	Types       typeList        `json:"type,omitempty"`
	Description string          `json:"description,omitempty"`
	Enum        []any           `json:"enum,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	Minimum     *float64        `json:"minimum,omitempty"`
	Maximum     *float64        `json:"maximum,omitempty"`
	MinLength   *float64        `json:"minLength,omitempty"` // a count: JSON Schema allows 1.0 for 1
	MaxLength   *float64        `json:"maxLength,omitempty"`
	MinItems    *float64        `json:"minItems,omitempty"`
	MaxItems    *float64        `json:"maxItems,omitempty"`
	Items       *node           `json:"items,omitempty"`
	Properties  properties      `json:"properties,omitzero"`
	Required    []string        `json:"required,omitempty"`
	Additional  *node           `json:"additionalProperties,omitempty"`

	nothing bool // the schema is false, which no value fits
}

// UnmarshalJSON reads a schema: an object, or true or false for one that
// everything or nothing fits. Numbers keep their digits.
func (n *node) UnmarshalJSON(raw []byte) error {
	var fits bool
	if json.Unmarshal(raw, &fits) == nil {
		n.nothing = !fits
		return nil
	}
	type plain node
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode((*plain)(n))
}

// MarshalJSON writes false for a schema that nothing fits.
func (n *node) MarshalJSON() ([]byte, error) {
	if n.nothing {
		return []byte("false"), nil
	}
	type plain node
	return json.Marshal((*plain)(n))
}

// ParseSchema reads the JSON Schema of a tool's arguments. It must be an object
// schema without contradictions.
func ParseSchema(raw json.RawMessage) (*Schema, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, fmt.Errorf(`schema is empty; a tool without arguments has {"type":"object","properties":{}}`)
	}
	var root node
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, fmt.Errorf("schema is malformed: %w", err)
	}
	if !slices.Equal(root.Types, typeList{"object"}) {
		return nil, fmt.Errorf(`schema must have "type": "object" at the top, not %v`, []string(root.Types))
	}
	if err := root.check(""); err != nil {
		return nil, err
	}
	return &Schema{raw: slices.Clone(raw), root: &root}, nil
}

// JSON returns the schema as a model sees it.
func (s *Schema) JSON() json.RawMessage { return slices.Clone(s.raw) }

// Properties returns the names of the arguments.
func (s *Schema) Properties() []string { return s.root.Properties.names() }

// check reports contradictions inside the schema. path is where n is.
func (n *node) check(path string) error {
	for _, t := range n.Types {
		if !slices.Contains(knownTypes, t) {
			return fmt.Errorf("schema%s: unknown type %q; use one of %v", at(path), t, knownTypes)
		}
	}
	for _, count := range []*float64{n.MinLength, n.MaxLength, n.MinItems, n.MaxItems} {
		if count != nil && (*count < 0 || *count != math.Trunc(*count) || *count > math.MaxInt32) {
			return fmt.Errorf("schema%s: %v is not a number of characters or items", at(path), *count)
		}
	}
	for _, name := range n.Required {
		if n.Properties.get(name) == nil {
			return fmt.Errorf("schema%s: required names %q, which is not a property", at(path), name)
		}
	}
	if len(n.Default) > 0 {
		value, err := decodeValue(n.Default)
		if err != nil {
			return fmt.Errorf("schema%s: default: %w", at(path), err)
		}
		// null is how generators write that there is no default.
		if _, problems := n.apply(path, value); len(problems) > 0 && value != nil {
			return fmt.Errorf("schema%s: default does not fit its own schema: %s", at(path), problems[0])
		}
	}
	for _, p := range n.Properties {
		if err := p.Schema.check(join(path, p.Name)); err != nil {
			return err
		}
	}
	if n.Items != nil {
		if err := n.Items.check(path + "[]"); err != nil {
			return err
		}
	}
	if n.Additional != nil {
		return n.Additional.check(path + ".*")
	}
	return nil
}

var knownTypes = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

func at(path string) string {
	if path == "" {
		return ""
	}
	return " at " + path
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// typeList is the "type" keyword: one name or a list of them.
type typeList []string

func (t typeList) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

func (t *typeList) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = typeList{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(raw, &many); err != nil {
		return fmt.Errorf(`"type" must be a name or a list of names: %w`, err)
	}
	*t = many
	return nil
}

// properties keeps the order in which a struct declares its fields, because
// models read a schema from top to bottom. Parsed ones are in order of name.
type properties []property

type property struct {
	Name   string
	Schema *node
}

func (ps properties) get(name string) *node {
	for _, p := range ps {
		if p.Name == name {
			return p.Schema
		}
	}
	return nil
}

func (ps properties) names() []string {
	names := make([]string, len(ps))
	for i, p := range ps {
		names[i] = p.Name
	}
	return names
}

func (ps properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(p.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(p.Schema)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (ps *properties) UnmarshalJSON(raw []byte) error {
	var byName map[string]*node
	if err := json.Unmarshal(raw, &byName); err != nil {
		return fmt.Errorf(`"properties" must be an object of schemas: %w`, err)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		schema := byName[name]
		if schema == nil {
			return fmt.Errorf("property %q is null; it must be a schema", name)
		}
		*ps = append(*ps, property{Name: name, Schema: schema})
	}
	return nil
}
