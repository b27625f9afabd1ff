package mcpserver

import (
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lossless-context/lcm/internal/record/store"

	"github.com/lossless-context/lcm/recall"
)

// describeSchema is the schema of an answer about a summary, a file or a
// message. It requires only the fields that all three have.
func describeSchema() (*jsonschema.Schema, error) {
	s, err := schemaOf[recall.DescribeAnswer]()
	if err != nil {
		return nil, err
	}
	s.Required = []string{"id", "type", "scope", "createdAt", "content", "tokenCount", "byteSize"}
	s.Properties["type"].Enum = []any{"summary", "file", "message"}
	s.Properties["encoding"] = &jsonschema.Schema{Type: "string", Enum: []any{"base64"}}
	return s, nil
}

// schemaOf derives the schema of a type. It allows additional properties, so that
// a later version may add a field. It drops null from types, because some clients
// map schemas to a dialect without it, and no answer has a null.
func schemaOf[T any]() (*jsonschema.Schema, error) {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: idSchemas})
	if err != nil {
		return nil, err
	}
	simplify(s)
	return s, nil
}

func simplify(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.AdditionalProperties = nil
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	simplify(s.Items)
	for _, p := range s.Properties {
		simplify(p)
	}
}

// idSchemas are the schemas of ids, which are text in JSON.
var idSchemas = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[store.ID]():        {Type: "string"},
	reflect.TypeFor[store.MessageID](): {Type: "string"},
}
