package wire

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/llms"
)

// sameSearchText fails if AppendSearchText takes a record for its own that
// reads otherwise as a message. It reports whether it took it.
func sameSearchText(t interface {
	Helper()
	Fatalf(string, ...any)
}, f llms.Format, record []byte) bool {
	t.Helper()
	text, ok := AppendSearchText([]byte("before"), f, record)
	if !ok {
		if string(text) != "before" {
			t.Fatalf("a record that is not taken leaves %q", text)
		}
		return false
	}
	m, err := Decode(f, llms.RoleUser, record)
	if err != nil {
		t.Fatalf("%s is taken, and is no record: %v", record, err)
	}
	if want := "before" + m.SearchText(); string(text) != want {
		t.Fatalf("%s\nis searched as %q,\nthe message as %q", record, text, want)
	}
	return true
}

func TestAppendSearchText(t *testing.T) {
	for name, m := range map[string]llms.Message{
		"call":      llms.Calls("Looking at \"it\".", llms.ToolCall{ID: "c1", Name: "read", Arguments: `{"path":"a\nb"}`}),
		"bare call": llms.Calls("", llms.ToolCall{}),
		"result":    llms.Result("c1", "read", "line 1\nline 2\t\x00é", true),
		"reasoning": {Role: llms.RoleAssistant, Parts: []llms.Part{{Kind: llms.PartReasoning, Text: "hm", Signature: "sig"}, {Kind: llms.PartText, Text: "so"}}},
		"named":     {Role: llms.RoleUser, ID: "m\"1", Parts: []llms.Part{{Kind: llms.PartText, Text: "a"}, {Kind: llms.PartText, Text: "b"}}},
		"no parts":  {Role: llms.RoleUser},
	} {
		record, err := Encode(llms.FormatLCM, m)
		if err != nil {
			t.Fatal(err)
		}
		if !sameSearchText(t, llms.FormatLCM, record) {
			t.Errorf("%s: %s is not taken", name, record)
		}
	}
	for _, record := range []string{
		``, `{}`, `{"lcm":2,"role":"user","parts":[]}`, `{"lcm":1,"role":"robot","parts":[]}`, `{"lcm":1,"role":"user","parts":[]} `,
		`{"lcm":1,"role":"user","parts":[{"kind":"blob","blob":{"name":"a"}}]}`, `{"lcm":1,"role":"user","parts":[{"kind":"text","text":"a]}`,
		`{"lcm":1,"role":"user","parts":[{"kind":"text","text":{"encoding":"base64","data":"/w=="}}]}`,
		`{"lcm":1,"role":"user","parts":[{"kind":"text","text":"` + "\n" + `"}]}`, `{"lcm":1,"role":"user","parts":[{"kind":"tool_call","call":}]}`,
	} {
		if sameSearchText(t, llms.FormatLCM, []byte(record)) {
			t.Errorf("%s is taken", record)
		}
	}
	if !sameSearchText(t, llms.FormatText, []byte("plain\xff")) || sameSearchText(t, llms.FormatOpenAI, []byte(`{"role":"user","content":"a"}`)) {
		t.Error("text is not taken, or a provider's record is")
	}
}

func TestSearchTextOfAnyMessage(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		m := llms.Message{Role: llms.RoleAssistant, ID: hostile().Draw(t, "id"), Parts: drawParts(t, 0)}
		record, err := Encode(llms.FormatLCM, m)
		if err != nil {
			return
		}
		if sameSearchText(t, llms.FormatLCM, record) {
			taken++
		}
	})
	if taken == 0 {
		t.Error("no record was taken")
	}
}

func FuzzSearchText(f *testing.F) {
	for _, m := range []llms.Message{llms.Calls("a", llms.ToolCall{ID: "c", Name: "n", Arguments: "{}"}), llms.Result("c", "n", "o", true), llms.User("plain")} {
		record, err := Encode(llms.FormatLCM, m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(record)
		f.Add([]byte(strings.Replace(string(record), `"text"`, `"t\u0065xt"`, 1)))
	}
	f.Fuzz(func(t *testing.T, record []byte) { sameSearchText(t, llms.FormatLCM, record) })
}
