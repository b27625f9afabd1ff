package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/llms"
)

// hostile draws strings that are easy to lose: not UTF-8, with NUL, with
// everything that JSON escapes.
func hostile() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "plain", "\x00", "\xff\xfe", "a\x80b", "\"\\/\b\f\n\r\t\x1f\x7f", "\u2028\u2029<&>", "\ufffd", "\xed\xa0\x80", "😀é好", `{"encoding":"base64"}`, "\r\n"}),
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
}

func optional[T any](t *rapid.T, name string, draw func() T) *T {
	if !rapid.Bool().Draw(t, name) {
		return nil
	}
	v := draw()
	return &v
}

func drawParts(t *rapid.T, depth int) []llms.Part {
	kinds := rapid.SampledFrom([]llms.PartKind{llms.PartText, llms.PartReasoning, llms.PartToolCall, llms.PartToolResult, llms.PartBlob, llms.PartOther, "", "a\xff"})
	s := func(name string) string { return hostile().Draw(t, name) }
	var parts []llms.Part
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		p := llms.Part{Kind: kinds.Draw(t, "kind"), Text: s("text"), Signature: s("signature")}
		p.Call = optional(t, "call", func() llms.ToolCall { return llms.ToolCall{ID: s("id"), Name: s("name"), Arguments: s("arguments")} })
		p.Blob = optional(t, "blob", func() llms.Blob {
			return llms.Blob{MIME: s("mime"), Name: s("name"), URL: s("url"), Data: []byte(s("data"))}
		})
		p.Ref = optional(t, "ref", func() llms.Ref {
			return llms.Ref{ID: s("id"), Name: s("name"), MIME: s("mime"), Note: s("note"), Bytes: rapid.Int64().Draw(t, "bytes"), Tokens: rapid.Int().Draw(t, "tokens")}
		})
		odd := rapid.SampledFrom([]string{"null", ` {"a": 1}`, "{\"a\":\n1}", `{"a":[1, 2]}`, "{\"\xff\":1}", "7"})
		p.Extra = json.RawMessage(rapid.OneOf(hostile(), odd).Draw(t, "extra"))
		if depth < 3 {
			p.Result = optional(t, "result", func() llms.ToolResult {
				return llms.ToolResult{CallID: s("id"), Name: s("name"), IsError: rapid.Bool().Draw(t, "error"), Output: drawParts(t, depth+1)}
			})
		}
		parts = append(parts, p)
	}
	return parts
}

func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 6).Draw(t, "value")
	switch {
	case kind == 0:
		return nil
	case kind == 1:
		return rapid.Bool().Draw(t, "bool")
	case kind == 2:
		return rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "float")
	case kind == 3:
		return json.Number(rapid.SampledFrom([]string{"9223372036854775807", "1.0", "1e400", "-0", "7"}).Draw(t, "number"))
	case kind == 4 && depth < 3:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "list") {
			list = append(list, drawValue(t, depth+1))
		}
		return list
	case kind == 5 && depth < 3:
		return drawMeta(t, depth+1)
	}
	return rapid.String().Draw(t, "string")
}

func drawMeta(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		key := rapid.String().Draw(t, "key")
		m[key] = drawValue(t, depth)
	}
	return m
}

func drawMessage(t *rapid.T) llms.Message {
	m := llms.Message{
		ID:    hostile().Draw(t, "id"),
		Role:  rapid.SampledFrom([]llms.Role{llms.RoleUser, llms.RoleAssistant, llms.RoleSystem, llms.RoleTool}).Draw(t, "role"),
		Parts: drawParts(t, 0),
		Meta:  drawMeta(t, 0),
	}
	if rapid.Bool().Draw(t, "timed") {
		sec := rapid.Int64Range(-1e10, 1e10).Draw(t, "sec")
		m.Time = time.Unix(sec, rapid.Int64Range(0, 999_999_999).Draw(t, "nsec"))
	}
	return m
}

func TestLCMKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		record, err := Encode(llms.FormatLCM, m)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(record) || bytes.ContainsAny(record, "\r\n") {
			t.Fatalf("not one line of JSON: %q", record)
		}
		back, err := Decode(llms.FormatLCM, "", record)
		if err != nil {
			t.Fatalf("Decode(%s): %v", record, err)
		}
		if !Equal(m, back) {
			t.Fatalf("lost something:\n%#v\n%s\n%#v", m, record, back)
		}
		back.Raw = llms.Raw{}
		again, err := Encode(llms.FormatLCM, back)
		if err != nil || !bytes.Equal(again, record) {
			t.Fatalf("written again it differs:\n%s\n%s", record, again)
		}
		if f, err := Detect(record); f != llms.FormatLCM || err != nil {
			t.Fatalf("Detect = %s, %v", f, err)
		}
	})
}

func TestLCMShape(t *testing.T) {
	m := llms.Message{ID: "m1", Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Role: llms.RoleAssistant,
		Parts: []llms.Part{{Kind: llms.PartText, Text: "a\xff"}, {Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "c", Name: "f", Arguments: `{"x":"<"}`}}},
		Meta:  map[string]any{"b": 1, "a": []string{"x"}}}
	const want = `{"lcm":1,"role":"assistant","id":"m1","time":"2026-01-02T03:04:05.000000006Z","parts":[{"kind":"text","text":{"encoding":"base64","data":"Yf8="}},{"kind":"tool_call","call":{"id":"c","name":"f","arguments":"{\"x\":\"<\"}"}}],"meta":{"a":["x"],"b":1}}`
	got, err := Encode(llms.FormatLCM, m)
	if err != nil || string(got) != want {
		t.Errorf("Encode = %s, %v\nwant %s", got, err, want)
	}
	if _, err := Decode(llms.FormatLCM, "", []byte(`{"lcm":2,"role":"user","parts":[]}`)); err == nil {
		t.Error("a record of a later version was read")
	}
	for _, bad := range []string{`{"role":"user"}`, `{"role":"user","parts":{}}`, `{"role":"user","parts":[1]}`, `{"role":"user","parts":[{"text":1}]}`, `{"role":"user","parts":[{"ref":{"bytes":"x"}}]}`, `{"role":"user","parts":[{"blob":{"data":"?"}}]}`, `{"role":"user","parts":[],"meta":[]}`} {
		if _, err := Decode(llms.FormatLCM, "", []byte(bad)); err == nil {
			t.Errorf("%s gave no error", bad)
		}
	}
}

// TestNestingIsBounded: what is written can be read again, and one level more is not written.
func TestNestingIsBounded(t *testing.T) {
	nested := func(levels int) llms.Message {
		parts := []llms.Part{{Kind: llms.PartText, Text: "x"}}
		for range levels {
			parts = []llms.Part{{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "a", Output: parts}}}
		}
		return llms.Message{Role: llms.RoleTool, Parts: parts}
	}
	raw, err := Encode(llms.FormatLCM, nested(partDepth))
	if err != nil {
		t.Fatal(err)
	}
	if got := decode(t, llms.FormatLCM, string(raw)); !Equal(got, nested(partDepth)) {
		t.Error("it reads otherwise than it was written")
	}
	if _, err := Encode(llms.FormatLCM, nested(partDepth+1)); !errors.Is(err, errTooDeep) {
		t.Errorf("a message that cannot be read again is written: %v", err)
	}
}

func TestMetaThatCannotBeWritten(t *testing.T) {
	m := llms.User("x")
	for _, v := range []any{math.NaN(), make(chan int), json.Number("x"), "\xff", []any{map[string]any{"\xff": 1}}} {
		m.Meta = map[string]any{"k": v}
		if _, err := Encode(llms.FormatLCM, m); err == nil {
			t.Errorf("%v was written", v)
		}
	}
}

func TestEqual(t *testing.T) {
	now := time.Now()
	a := llms.Message{Role: llms.RoleUser, Time: now, Parts: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{Data: []byte{}}}}, Meta: map[string]any{"n": 1}}
	b := llms.Message{Role: llms.RoleUser, Time: now.UTC().Round(0), Parts: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{}}}, Meta: map[string]any{"n": 1.0}, Raw: llms.Raw{Format: llms.FormatLCM, Bytes: []byte("x")}}
	if !Equal(a, b) {
		t.Error("messages that say the same differ")
	}
	changes := map[string]func(*llms.Message){
		"id":    func(m *llms.Message) { m.ID = "x" },
		"time":  func(m *llms.Message) { m.Time = m.Time.Add(1) },
		"role":  func(m *llms.Message) { m.Role = llms.RoleTool },
		"parts": func(m *llms.Message) { m.Parts = nil },
		"text":  func(m *llms.Message) { m.Parts = []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{}, Text: "x"}} },
		"blob":  func(m *llms.Message) { m.Parts = []llms.Part{{Kind: llms.PartBlob}} },
		"ref": func(m *llms.Message) {
			m.Parts = []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{}, Ref: &llms.Ref{}}}
		},
		"result": func(m *llms.Message) {
			m.Parts = []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{}, Result: &llms.ToolResult{}}}
		},
		"meta": func(m *llms.Message) { m.Meta = map[string]any{"n": "1"} },
	}
	for name, change := range changes {
		c := b
		change(&c)
		if Equal(a, c) {
			t.Errorf("a change of %s goes unnoticed", name)
		}
	}
}
