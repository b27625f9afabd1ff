package agents

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/lossless-context/lcm/llms"
)

// Whatever a model writes as arguments, reading it does not panic, and an
// object that is accepted says the same when it is written again: no digit of
// a number is lost on the way.
func FuzzParseArguments(f *testing.F) {
	for _, seed := range []string{``, `{}`, `null`, `[1]`, `{"a":1}{}`, `{"id":9007199254740993}`, `{"x":{"y":[1.5,-0,1e400,12345678901234567890]}}`, `{"a":`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args, err := parseArguments(llms.ToolCall{Name: "x", Arguments: text})
		if err != nil {
			return
		}
		if args == nil {
			t.Fatal("no error and no arguments")
		}
		again, err := json.Marshal(args)
		if err != nil {
			t.Fatalf("%q cannot be written again: %v", text, err)
		}
		var want, got map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &want) != nil {
			return // nothing, or null
		}
		if err := json.Unmarshal(again, &got); err != nil || len(got) != len(want) {
			t.Fatalf("%q became %q", text, again)
		}
		for name, value := range want {
			if isInteger(value) && !bytes.Equal(value, got[name]) {
				t.Errorf("%s became %s", value, got[name])
			}
		}
	})
}

func isInteger(raw json.RawMessage) bool {
	for i, c := range raw {
		if (c < '0' || c > '9') && !(i == 0 && c == '-') {
			return false
		}
	}
	return !bytes.Equal(raw, []byte("-0"))
}
