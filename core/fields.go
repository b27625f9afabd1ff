package core

import (
	"cmp"
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
}

// jsonFields lists the fields that encoding/json reads into a struct of type t.
// Fields of an embedded struct are among them, unless the embedding has a JSON
// name: then it is a field like any other.
func jsonFields(t reflect.Type) ([]jsonField, error) {
	var fields []jsonField
	var closed [][]int // embeddings whose fields are not fields of t
	for _, f := range reflect.VisibleFields(t) {
		if slices.ContainsFunc(closed, func(at []int) bool { return len(f.Index) > len(at) && slices.Equal(f.Index[:len(at)], at) }) {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		isStruct := f.Type.Kind() == reflect.Struct || f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct
		if f.Anonymous && name == "" && isStruct {
			continue // its fields follow
		}
		closed = append(closed, f.Index)
		if name == "-" && options == "" || !f.IsExported() {
			continue
		}
		field := jsonField{f, cmp.Or(name, f.Name), strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")}
		i := slices.IndexFunc(fields, func(g jsonField) bool { return g.json == field.json })
		switch {
		case i < 0:
			fields = append(fields, field)
		case len(fields[i].Index) == len(f.Index):
			return nil, fmt.Errorf("fields %s and %s are both named %q", fields[i].Name, f.Name, field.json)
		case len(f.Index) < len(fields[i].Index):
			fields[i] = field // the outer one hides the inner one
		}
	}
	return fields, nil
}
