package core_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/core"
)

// What models write where a schema asks for something else.
func TestCoerce(t *testing.T) {
	type args struct {
		ID    int      `json:"id,omitempty"`
		All   bool     `json:"all,omitempty"`
		IDs   []string `json:"ids,omitempty"`
		Text  string   `json:"text,omitempty"`
		Mode  string   `json:"mode,omitempty" enum:"regex,full_text"`
		Ratio float64  `json:"ratio,omitempty"`
		Must  int      `json:"must"`
	}
	schema, err := core.SchemaFor[args]()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ sent, want string }{
		{`{"id": "2"}`, `{"id": 2}`},
		{`{"id": "[12]"}`, `{"id": 12}`},
		{`{"id": "\"7\""}`, `{"id": 7}`},
		{`{"id": 3}`, `{"id": 3}`},
		{`{"id": "+5"}`, `{"id": 5}`},
		{`{"id": "5."}`, `{"id": 5}`},
		{`{"id": "007"}`, `{"id": 7}`},
		{`{"ratio": ".5"}`, `{"ratio": 0.5}`},
		{`{"id": "", "all": " ", "ratio": ""}`, `{}`},
		{`{"text": ""}`, `{"text": ""}`},
		{`{"ratio": "0.5"}`, `{"ratio": 0.5}`},
		{`{"all": "true"}`, `{"all": true}`},
		{`{"all": "No"}`, `{"all": false}`},
		{`{"ids": "sum_x"}`, `{"ids": ["sum_x"]}`},
		{`{"ids": "[sum_x, 'sum_y']"}`, `{"ids": ["sum_x", "sum_y"]}`},
		{`{"ids": "[\"sum_x\"]"}`, `{"ids": ["sum_x"]}`},
		{`{"ids": ["sum_x"]}`, `{"ids": ["sum_x"]}`},
		{`{"text": 5}`, `{"text": "5"}`},
		{`{"text": ["one"]}`, `{"text": "one"}`},
		{`{"mode": "Full-Text"}`, `{"mode": "full_text"}`},
		{`{"mode": "fulltext"}`, `{"mode": "full_text"}`},
		// What is not plain stays, and is refused by its type.
		{`{"id": "two"}`, `{"id": "two"}`},
		{`{"id": "inf"}`, `{"id": "inf"}`},
		{`{"ratio": "NaN"}`, `{"ratio": "NaN"}`},
		{`{"must": ""}`, `{"must": ""}`},
		{`{"all": "maybe"}`, `{"all": "maybe"}`},
		{`{"text": ["one", "two"]}`, `{"text": ["one", "two"]}`},
		{`{"other": "5"}`, `{"other": "5"}`},
	} {
		var sent, want, got any
		if err := json.Unmarshal([]byte(c.sent), &sent); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(schema.Coerce(sent.(map[string]any)))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.sent, diff)
		}
	}
}
