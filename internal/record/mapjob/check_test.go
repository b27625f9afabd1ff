package mapjob

import (
	"encoding/json"
	"testing"
)

// A schema that no reply can fit is refused before anybody is asked.
func TestCheckerRefusesSchemas(t *testing.T) {
	for schema, ok := range map[string]bool{
		`{"type": "int"}`:             false,
		`{"type": ["string", "nil"]}`: false,
		`{"type": "array", "items": {"anyOf": [{"type": "null"}, {"properties": {"a": {"type": "bool"}}}]}}`: false,
		`{"$defs": {"a": {"type": "list"}}, "$ref": "#/$defs/a"}`:                                            false,
		`{"$ref": "#/$defs/a"}`: false,
		`[]`:                    false,
		`{`:                     false,
		`{"type": ["string", "null"], "enum": [{"type": "int"}]}`:                                               true,
		`{"type": "object", "properties": {"type": {"const": {"type": "int"}}}, "additionalProperties": false}`: true,
		`true`: true,
	} {
		if _, err := Checker(json.RawMessage(schema)); (err == nil) != ok {
			t.Errorf("%s: %v", schema, err)
		}
	}
}
