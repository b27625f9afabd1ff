package core_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/core"
)

type searchArgs struct {
	Pattern string    `json:"pattern" description:"What to look for"`
	Mode    string    `json:"mode" enum:"regex,full_text" default:"regex"`
	Limit   int       `json:"limit" default:"50" minimum:"1" maximum:"200"`
	Since   time.Time `json:"since,omitzero"`
	IDs     []int64   `json:"ids,omitempty"`
	Exact   *bool     `json:"exact"`
	hidden  string    //lint:ignore U1000 shows that unexported fields are no arguments
}

func TestSchemaIsDerivedFromTheStruct(t *testing.T) {
	schema, err := core.SchemaFor[searchArgs]()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{` +
		`"pattern":{"type":"string","description":"What to look for"},` +
		`"mode":{"type":"string","enum":["regex","full_text"],"default":"regex"},` +
		`"limit":{"type":"integer","default":50,"minimum":1,"maximum":200},` +
		`"since":{"type":"string"},` +
		`"ids":{"type":"array","items":{"type":"integer"}},` +
		`"exact":{"type":"boolean"}},` +
		`"required":["pattern"],"additionalProperties":false}`
	if diff := cmp.Diff(want, string(schema.JSON())); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	if _, err := core.ParseSchema(schema.JSON()); err != nil {
		t.Errorf("the derived schema does not parse: %v", err)
	}
}

func TestSchemaOfAnEmptyStructHasProperties(t *testing.T) {
	schema, err := core.SchemaFor[struct{}]()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{},"additionalProperties":false}`
	if got := string(schema.JSON()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

type paging struct {
	Limit  int    `json:"limit" default:"50"`
	Cursor string `json:"cursor,omitempty"`
	Name   string `json:"name"`
}

type named struct {
	paging `json:"page"` // unexported, so encoding/json leaves it out
	Paging paging        `json:"paging"`
	Name   string        `json:"name"`
}

type Embedded struct {
	A string `json:"a"`
}

// Arguments are the fields that encoding/json reads, embedded structs included.
func TestEmbeddedStructs(t *testing.T) {
	tests := []struct {
		name   string
		schema func() (*core.Schema, error)
		want   string
	}{
		{"promoted, the outer field hides the inner", core.SchemaFor[struct {
			paging
			Name *string `json:"name"`
		}], `{"type":"object","properties":{"limit":{"type":"integer","default":50},"cursor":{"type":"string"},"name":{"type":"string"}},"additionalProperties":false}`},
		{"under a name of its own", core.SchemaFor[struct {
			Embedded `json:"inner"`
			B        string `json:"b"`
		}], `{"type":"object","properties":{"inner":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false},"b":{"type":"string"}},"required":["inner","b"],"additionalProperties":false}`},
		{"left out", core.SchemaFor[struct {
			Embedded `json:"-"`
			B        string `json:"b"`
		}], `{"type":"object","properties":{"b":{"type":"string"}},"required":["b"],"additionalProperties":false}`},
		{"unexported under a name", core.SchemaFor[struct {
			B     string `json:"b"`
			named `json:"n"`
		}], `{"type":"object","properties":{"b":{"type":"string"}},"required":["b"],"additionalProperties":false}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			schema, err := test.schema()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(schema.JSON())); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
		})
	}
	_, err := core.SchemaFor[struct {
		A string `json:"B"`
		B string
	}]()
	if err == nil || !strings.Contains(err.Error(), `both named "B"`) {
		t.Errorf("two fields of one name: %v", err)
	}
}

// What JSON Schema allows, a tool of any origin may send.
func TestLegalSchemas(t *testing.T) {
	const big = "9007199254740993" // no float64 holds it
	tests := []struct {
		name, schema string
		args         map[string]any
		want         []string
	}{
		{"anything", `{"x":true}`, map[string]any{"x": []any{1}}, nil},
		{"nothing", `{"x":false}`, map[string]any{"x": 1}, []string{`argument "x" must not be given`}},
		{"nothing, not given", `{"x":false}`, nil, nil},
		{"a count with a point", `{"x":{"type":"string","minLength":2.0}}`, map[string]any{"x": "a"}, []string{`argument "x" must have at least 2 characters, has 1`}},
		{"no default", `{"x":{"type":"string","default":null}}`, nil, nil},
		{"a large number in an enum", `{"x":{"enum":[` + big + `]}}`, map[string]any{"x": json.Number(big)}, nil},
		{"another large number", `{"x":{"enum":[` + big + `]}}`, map[string]any{"x": json.Number("9007199254740992")},
			[]string{`argument "x" must be one of ` + big + `, got 9007199254740992`}},
		{"a whole number with a point in an enum", `{"x":{"enum":[1, 2.0]}}`, map[string]any{"x": 2}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			schema, err := core.ParseSchema(json.RawMessage(`{"type":"object","properties":` + test.schema + `}`))
			if err != nil {
				t.Fatal(err)
			}
			args, problems := schema.Apply(test.args)
			if diff := cmp.Diff(test.want, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if _, given := args["x"]; given != (test.args != nil) {
				t.Errorf("the arguments became %v", args)
			}
		})
	}
	for _, bad := range []string{`1.5`, `-1`, `"2"`, `1e99`} {
		if _, err := core.ParseSchema(json.RawMessage(`{"type":"object","properties":{"x":{"minLength":` + bad + `}}}`)); err == nil {
			t.Errorf("minLength %s is taken", bad)
		}
	}
}

type recursive struct {
	Next []recursive `json:"next"`
}

func TestSchemaOfAnUnusableTypeIsRefused(t *testing.T) {
	check := func(name, want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v does not say %q", name, err, want)
		}
	}
	_, err := core.SchemaFor[string]()
	check("no struct", "made from a struct", err)
	_, err = core.SchemaFor[recursive]()
	check("recursive", "contains itself", err)
	_, err = core.SchemaFor[struct{ F func() }]()
	check("function", "no JSON form", err)
	_, err = core.SchemaFor[struct{ M map[int]string }]()
	check("map", "string keys", err)
	_, err = core.SchemaFor[struct {
		N int `default:"many"`
	}]()
	check("default", "not JSON", err)
	_, err = core.SchemaFor[struct {
		N int `default:"300" maximum:"200"`
	}]()
	check("default out of bounds", "default does not fit", err)
	_, err = core.SchemaFor[struct {
		N int `minimum:"low"`
	}]()
	check("minimum", "minimum", err)
	_, err = core.SchemaFor[struct {
		N int `enum:"1,two"`
	}]()
	check("enum", "enum", err)
}

func TestMalformedSchemaIsRefused(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"empty", ``, "schema is empty"},
		{"no JSON", `{`, "malformed"},
		{"no object", `{"type":"string"}`, `"type": "object"`},
		{"no type", `{"properties":{}}`, `"type": "object"`},
		{"unknown type", `{"type":"object","properties":{"a":{"type":"text"}}}`, `schema at a: unknown type "text"`},
		{"type of types", `{"type":"object","properties":{"a":{"type":5}}}`, "malformed"},
		{"stray required", `{"type":"object","properties":{},"required":["b"]}`, `required names "b"`},
		{"null property", `{"type":"object","properties":{"a":null}}`, `property "a" is null`},
		{"bad default", `{"type":"object","properties":{"a":{"type":"string","default":3}}}`, "default does not fit"},
		{"bad items", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"x"}}}}`, "schema at a[]"},
		{"bad further", `{"type":"object","additionalProperties":{"type":"x"}}`, "unknown type"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := core.ParseSchema(json.RawMessage(test.schema))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v does not say %q", err, test.want)
			}
		})
	}
}

const wide = `{"type":"object","properties":{
	"text":{"type":"string","minLength":2,"maxLength":4},
	"list":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2},
	"kind":{"enum":["a",2]},
	"either":{"type":["string","null"]},
	"count":{"type":"integer","minimum":1,"maximum":10},
	"ratio":{"type":"number"},
	"inner":{"type":"object","properties":{"deep":{"type":"boolean"}},"required":["deep"],"additionalProperties":false}},
	"additionalProperties":{"type":"integer"}}`

func TestBadArgumentsAreNamed(t *testing.T) {
	schema, err := core.ParseSchema(json.RawMessage(wide))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args map[string]any
		want []string
	}{
		{"short", map[string]any{"text": "a"}, []string{`argument "text" must have at least 2 characters, has 1`}},
		{"long, counted in characters", map[string]any{"text": "äöüß"}, nil},
		{"long", map[string]any{"text": "12345"}, []string{`argument "text" must have at most 4 characters, has 5`}},
		{"wrong type", map[string]any{"text": 5}, []string{`argument "text" must be a string, got 5`}},
		{"items", map[string]any{"list": []any{"a", 1}}, []string{`argument "list[1]" must be a string, got 1`}},
		{"typed Go slice", map[string]any{"list": []string{"a"}}, nil},
		{"no items", map[string]any{"list": []any{}}, []string{`argument "list" must have at least 1 items, has 0`}},
		{"enum", map[string]any{"kind": "c"}, []string{`argument "kind" must be one of "a", 2, got "c"`}},
		{"enum number", map[string]any{"kind": 2}, nil},
		{"null where allowed", map[string]any{"either": nil}, nil},
		{"two types", map[string]any{"either": 1}, []string{`argument "either" must be a string or null, got 1`}},
		{"null stands for not given", map[string]any{"count": nil}, nil},
		{"fraction", map[string]any{"count": 1.5}, []string{`argument "count" must be an integer, got 1.5`}},
		{"below", map[string]any{"count": 0}, []string{`argument "count" must be at least 1, got 0`}},
		{"above", map[string]any{"count": 11}, []string{`argument "count" must be at most 10, got 11`}},
		{"nested", map[string]any{"inner": map[string]any{"deep": "x", "far": 1}}, []string{
			`argument "inner.deep" must be a boolean, got "x"`,
			`argument "inner.far" is unknown; the names are deep`}},
		{"nested missing", map[string]any{"inner": map[string]any{}}, []string{
			`argument "inner.deep" is missing: it is required and must be a boolean`}},
		{"further", map[string]any{"more": "x"}, []string{`argument "more" must be an integer, got "x"`}},
		{"no JSON", map[string]any{"ratio": func() {}}, []string{
			"the arguments cannot be written as JSON: json: unsupported type: func()"}},
		{"endless number", map[string]any{"count": json.Number("1e999999999")}, []string{
			`argument "count" must be an integer, got 1e999999999`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := schema.Apply(test.args)
			if diff := cmp.Diff(test.want, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHugeArgumentIsCutInItsError(t *testing.T) {
	schema, err := core.SchemaFor[struct{ N int }]()
	if err != nil {
		t.Fatal(err)
	}
	_, problems := schema.Apply(map[string]any{"N": strings.Repeat("ü", 100_000)})
	if len(problems) != 1 || len(problems[0]) > 300 || !strings.HasSuffix(problems[0], "…") {
		t.Errorf("problems are not one short line: %d, %.200q", len(problems), problems)
	}
}

// Whatever fits the schema of a struct decodes into it, with the defaults of
// what was left out.
func TestAppliedArgumentsDecode(t *testing.T) {
	schema, err := core.SchemaFor[searchArgs]()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		args := map[string]any{"pattern": rapid.String().Draw(t, "pattern")}
		want := searchArgs{Pattern: args["pattern"].(string), Mode: "regex", Limit: 50}
		if rapid.Bool().Draw(t, "with limit") {
			want.Limit = rapid.IntRange(1, 200).Draw(t, "limit")
			args["limit"] = float64(want.Limit)
		}
		if rapid.Bool().Draw(t, "with mode") {
			want.Mode = "full_text"
			args["mode"] = want.Mode
		}
		if rapid.Bool().Draw(t, "with ids") {
			want.IDs = rapid.SliceOfN(rapid.Int64(), 1, 4).Draw(t, "ids")
			args["ids"] = want.IDs
		}
		applied, problems := schema.Apply(args)
		if len(problems) > 0 {
			t.Fatalf("good arguments are refused: %v", problems)
		}
		raw, err := json.Marshal(applied)
		if err != nil {
			t.Fatal(err)
		}
		var got searchArgs
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		// A string that is not UTF-8 has no JSON form; JSON replaces it.
		want.Pattern = strings.ToValidUTF8(want.Pattern, "\uFFFD")
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(searchArgs{})); diff != "" {
			t.Fatalf("decoded (-want +got):\n%s", diff)
		}
	})
}

// No schema and no arguments, however odd, make the checker panic, and what a
// schema accepts it accepts again once its defaults are in.
func FuzzSchemaApply(f *testing.F) {
	f.Add(wide, `{"text":"abc","list":["x"],"inner":{"deep":true}}`)
	f.Add(`{"type":"object","properties":{"n":{"type":"integer","default":1}},"required":["n"]}`, `{"n":1e2}`)
	f.Add(`{"type":"object","additionalProperties":{"type":["null","array"]}}`, `{"a":null}`)
	f.Fuzz(func(t *testing.T, schemaText, argsText string) {
		schema, err := core.ParseSchema(json.RawMessage(schemaText))
		if err != nil {
			return
		}
		var args map[string]any
		if json.Unmarshal([]byte(argsText), &args) != nil {
			return
		}
		applied, problems := schema.Apply(args)
		if len(problems) > 0 {
			return
		}
		if _, again := schema.Apply(applied); len(again) > 0 {
			t.Errorf("accepted, then refused: %v", again)
		}
	})
}
