package mapjob

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
)

// Checker returns a function for [Job].Check: the JSON of a reply, which fits the schema, on one
// line. Without a schema it is the reply as a JSON string.
func Checker(schema json.RawMessage) (func(reply string) (string, error), error) {
	if len(schema) == 0 {
		return func(reply string) (string, error) {
			text, err := jsonstring.Marshal(strings.TrimSpace(reply))
			return string(text), err
		}, nil
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("the schema is no JSON Schema: %w", err)
	}
	resolved, err := s.Resolve(nil)
	if err == nil {
		err = checkTypes(&s)
	}
	if err != nil {
		return nil, fmt.Errorf("the schema is no JSON Schema: %w", err)
	}
	return func(reply string) (string, error) {
		text, err := jsonOf(reply)
		if err != nil {
			return "", err
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			return "", err
		}
		if err := resolved.Validate(value); err != nil {
			return "", err
		}
		var line bytes.Buffer
		err = json.Compact(&line, text)
		return line.String(), err
	}, nil
}

var types = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// checkTypes returns an error if a schema has a type that does not exist, which no reply would
// fit. [jsonschema.Schema.Resolve] does not look.
func checkTypes(s *jsonschema.Schema) error {
	if s == nil {
		return nil
	}
	for _, t := range append(slices.Clone(s.Types), s.Type) {
		if t != "" && !slices.Contains(types, t) {
			return fmt.Errorf("there is no type %q; the types are %s", t, strings.Join(types, ", "))
		}
	}
	below := slices.Concat([]*jsonschema.Schema{s.Items, s.Contains, s.AdditionalProperties, s.Not, s.If, s.Then, s.Else}, s.PrefixItems, s.ItemsArray, s.AllOf, s.AnyOf, s.OneOf)
	for _, named := range []map[string]*jsonschema.Schema{s.Properties, s.PatternProperties, s.Defs, s.Definitions} {
		below = slices.AppendSeq(below, maps.Values(named))
	}
	for _, b := range below {
		if err := checkTypes(b); err != nil {
			return err
		}
	}
	return nil
}

// jsonOf returns the JSON in a reply: all of it, or what is between the first and the last brace
// or bracket.
func jsonOf(reply string) ([]byte, error) {
	text := strings.TrimSpace(reply)
	if json.Valid([]byte(text)) {
		return []byte(text), nil
	}
	from, to := strings.IndexAny(text, "{["), strings.LastIndexAny(text, "}]")
	if from < 0 || to < from {
		return nil, errors.New("there is no JSON in it")
	}
	part := []byte(text[from : to+1])
	if !json.Valid(part) {
		var value any
		return nil, json.Unmarshal(part, &value) // which says where it is wrong
	}
	return part, nil
}
