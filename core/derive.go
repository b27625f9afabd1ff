package core

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SchemaFor derives the schema of a tool's arguments, or of a typed answer, from
// the struct T.
//
// A field is an argument under its JSON name; it may be a struct, slice or map in
// turn. It is required unless it is a pointer, says omitempty or omitzero, or has
// a default. Tags say the rest:
//
//	description:"…"   the meaning of the argument
//	enum:"a,b,c"      the values it may have
//	default:"50"      the value when it is not given
//	minimum:"1"       bounds of a number
//	maximum:"200"
//
// Arguments beyond the fields are refused, since a misspelt optional argument
// would otherwise be ignored without a word.
func SchemaFor[T any]() (*Schema, error) {
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("a schema is made from a struct, not from %v", t)
	}
	root, err := derive(t, nil)
	if err != nil {
		return nil, fmt.Errorf("arguments %v: %w", t, err)
	}
	raw, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("arguments %v: %w", t, err)
	}
	if err := root.check(""); err != nil {
		return nil, fmt.Errorf("arguments %v: %w", t, err)
	}
	return &Schema{raw: raw, root: root}, nil
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// derive returns the schema of t. within are the structs around it, by which
// a recursive type is noticed.
func derive(t reflect.Type, within []reflect.Type) (*node, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case timeType:
		return &node{Types: typeList{"string"}}, nil
	case rawType:
		return &node{}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return &node{Types: typeList{"string"}}, nil
	case reflect.Bool:
		return &node{Types: typeList{"boolean"}}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &node{Types: typeList{"integer"}}, nil
	case reflect.Float32, reflect.Float64:
		return &node{Types: typeList{"number"}}, nil
	case reflect.Interface:
		return &node{}, nil
	case reflect.Slice, reflect.Array:
		items, err := derive(t.Elem(), within)
		if err != nil {
			return nil, err
		}
		return &node{Types: typeList{"array"}, Items: items}, nil
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("a map must have string keys, not %v", t.Key())
		}
		values, err := derive(t.Elem(), within)
		if err != nil {
			return nil, err
		}
		return &node{Types: typeList{"object"}, Additional: values}, nil
	case reflect.Struct:
		return deriveStruct(t, within)
	}
	return nil, fmt.Errorf("type %v has no JSON form", t)
}

func deriveStruct(t reflect.Type, within []reflect.Type) (*node, error) {
	if slices.Contains(within, t) {
		return nil, fmt.Errorf("type %v contains itself", t)
	}
	within = append(slices.Clone(within), t)
	n := &node{Types: typeList{"object"}, Properties: properties{}, Additional: &node{nothing: true}}
	fields, err := jsonFields(t)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		schema, err := derive(f.Type, within)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		if err := schema.annotate(f.Tag); err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		n.Properties = append(n.Properties, property{Name: f.json, Schema: schema})
		if f.Type.Kind() != reflect.Pointer && len(schema.Default) == 0 && !f.omitted {
			n.Required = append(n.Required, f.json)
		}
	}
	return n, nil
}

// annotate reads the tags that say more about a field than its type.
func (n *node) annotate(tag reflect.StructTag) error {
	n.Description = tag.Get("description")
	if enum, ok := tag.Lookup("enum"); ok {
		for option := range strings.SplitSeq(enum, ",") {
			value, err := n.literal(option)
			if err != nil {
				return fmt.Errorf("enum: %w", err)
			}
			n.Enum = append(n.Enum, value)
		}
	}
	if text, ok := tag.Lookup("default"); ok {
		value, err := n.literal(text)
		if err != nil {
			return fmt.Errorf("default: %w", err)
		}
		if n.Default, err = json.Marshal(value); err != nil {
			return fmt.Errorf("default: %w", err)
		}
	}
	for name, bound := range map[string]**float64{"minimum": &n.Minimum, "maximum": &n.Maximum} {
		text, ok := tag.Lookup(name)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*bound = &f
	}
	return nil
}

// literal reads a value from a tag: text for a string, JSON for the rest.
func (n *node) literal(text string) (any, error) {
	if slices.Contains(n.Types, "string") {
		return text, nil
	}
	value, err := decodeValue([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%q is not JSON: %w", text, err)
	}
	return value, nil
}
