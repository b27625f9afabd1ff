package core

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// jsonField is a field of a struct as encoding/json sees it.
type jsonField struct {
	reflect.StructField
	json    string // its name there
	omitted bool   // it may be left out
	depth   int    // how many embedded structs are around it
}

// jsonFields lists the fields that encoding/json reads into a struct of type t.
// Fields of an embedded struct are among them, unless the embedding has a JSON
// name: then it is a field like any other.
func jsonFields(t reflect.Type) ([]jsonField, error) {
	var fields []jsonField
	for _, f := range promoted(t, nil) {
		i := slices.IndexFunc(fields, func(g jsonField) bool { return g.json == f.json })
		switch {
		case i < 0:
			fields = append(fields, f)
		case fields[i].depth == f.depth:
			return nil, fmt.Errorf("fields %s and %s are both named %q", fields[i].Name, f.Name, f.json)
		case f.depth < fields[i].depth:
			fields[i] = f // the outer one hides the inner one
		}
	}
	return fields, nil
}

// promoted lists the fields of t and of the structs embedded in it. within are
// the structs around it.
func promoted(t reflect.Type, within []reflect.Type) []jsonField {
	if slices.Contains(within, t) {
		return nil // a struct that embeds a pointer to itself adds nothing
	}
	within = append(slices.Clone(within), t)
	var fields []jsonField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" && options == "" {
			continue
		}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.Anonymous && name == "" && inner.Kind() == reflect.Struct {
			fields = append(fields, promoted(inner, within)...)
			continue
		}
		if !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields = append(fields, jsonField{StructField: f, json: name, depth: len(within),
			omitted: strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")})
	}
	return fields
}
