package apiform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
)

const anthropic = `{"model":"claude-x","messages":[
 {"role":"user","content":[{"type":"text","text":"<system-reminder>rules</system-reminder>"},{"type":"text","text":"hello \"you\""}]},
 {"role":"system","content":"be brief"},
 {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s=="},{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]},
 {"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":[{"type":"text","text":"a"},{"type":"image","source":{"data":"IMG"}}]}]},
 {"role":"assistant","content":"done"},
 {"role":"user","content":[{"type":"text","text":"more","cache_control":{"type":"ephemeral","ttl":"1h"}}]}
],"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],"tools":[{"name":"Bash"}],"stream":true}`

const responses = `{"model":"gpt-x","input":[
 {"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]},
 {"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]},
 {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"xx"},
 {"type":"function_call","call_id":"call_1","name":"exec_command","arguments":"{}"},
 {"type":"function_call","call_id":"call_2","name":"exec_command","arguments":"{}"},
 {"type":"function_call_output","call_id":"call_1","output":"a"},
 {"type":"function_call_output","call_id":"call_2","output":"b"},
 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}
],"store":false}`

const chat = `{"model":"local","messages":[
 {"role":"system","content":"rules"},
 {"role":"user","content":"hello"},
 {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{}"}}]},
 {"role":"tool","tool_call_id":"call_1","content":"a"},
 {"role":"assistant","content":"done"},
 {"role":"user","content":[{"type":"text","text":"more"}]}
]}`

const gemini = `{"contents":[
 {"role":"user","parts":[{"text":"<session_context>rules"},{"text":"hello"}]},
 {"role":"model","parts":[{"text":"hm","thought":true},{"text":"I look."},{"functionCall":{"id":"ls__1","name":"ls","args":{}},"thoughtSignature":"s"}]},
 {"role":"user","parts":[{"functionResponse":{"id":"1","name":"ls","response":{"output":"a"}}},{"functionResponse":{"id":"1","name":"ls","response":{"output":"a"}}}]},
 {"role":"model","parts":[{"text":"done"}]},
 {"role":"user","parts":[{"text":"more"},{"inlineData":{"mimeType":"image/png","data":"IMG"}}]}
],"systemInstruction":{"parts":[{"text":"s"}]},"tools":[{"functionDeclarations":[{"name":"ls"}]}]}`

var bodies = map[apiform.Form]string{apiform.Messages: anthropic, apiform.Responses: responses, apiform.Chat: chat, apiform.Gemini: gemini}

// describe shows a request in one line for each message.
func describe(r *apiform.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "%s calls=%d results=%d", []string{"user", "assistant", "system"}[m.Role], len(m.Calls), len(m.Results))
		for _, t := range m.Texts {
			fmt.Fprintf(&b, " %q", t.String())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for form, want := range map[apiform.Form]string{
		apiform.Messages: `user calls=0 results=0 "<system-reminder>rules</system-reminder>" "hello \"you\""
system calls=0 results=0 "be brief"
assistant calls=1 results=0 "I look."
user calls=0 results=1
assistant calls=0 results=0 "done"
user calls=0 results=0 "more"
`,
		apiform.Responses: `system calls=0 results=0 "rules"
user calls=0 results=0 "hello"
assistant calls=2 results=0
user calls=0 results=1
user calls=0 results=1
assistant calls=0 results=0 "done"
`,
		apiform.Chat: `system calls=0 results=0 "rules"
user calls=0 results=0 "hello"
assistant calls=1 results=0
user calls=0 results=1
assistant calls=0 results=0 "done"
user calls=0 results=0 "more"
`,
		apiform.Gemini: `user calls=0 results=0 "<session_context>rules" "hello"
assistant calls=1 results=0 "I look."
user calls=0 results=1
assistant calls=0 results=0 "done"
user calls=0 results=0 "more"
`,
	} {
		r, err := apiform.Parse(form, []byte(bodies[form]))
		if err != nil {
			t.Fatal(err)
		}
		if form == apiform.Gemini && (!r.Messages[0].Texts[0].Reminder || r.Messages[1].Calls[0] != r.Messages[2].Results[0] || !r.Tools) {
			t.Errorf("%+v", r)
		}
		if diff := cmp.Diff(want, describe(r)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestParseAfter: a request that follows another one is read as if it were alone, and the
// messages with which both begin are not read again.
func TestParseAfter(t *testing.T) {
	step := map[apiform.Form]string{
		apiform.Messages:  `{"role":"assistant","content":[{"type":"text","text":"step %[1]d"},{"type":"tool_use","id":"t%[1]d"}]}, {"role":"user","content":[{"type":"tool_result","tool_use_id":"t%[1]d","content":"%[2]s"}]}`,
		apiform.Responses: `{"type":"reasoning","id":"r%[1]d"}, {"type":"message","role":"assistant","content":[{"type":"output_text","text":"step %[1]d"}]},{"type":"function_call","call_id":"t%[1]d"},{"type":"function_call_output","call_id":"t%[1]d","output":"%[2]s"}`,
		apiform.Chat:      `{"role":"assistant","content":"step %[1]d","tool_calls":[{"id":"t%[1]d"}]}, {"role":"tool","tool_call_id":"t%[1]d","content":"%[2]s"}`,
		apiform.Gemini:    `{"role":"model","parts":[{"text":"step %[1]d"},{"functionCall":{"id":"t%[1]d","name":"x"}}]}, {"role":"user","parts":[{"functionResponse":{"id":"t%[1]d","name":"x","response":{"output":"%[2]s"}}}]}`,
	}
	for form, one := range step {
		steps := func(n int, last string) []byte {
			var all []string
			for i := range n {
				all = append(all, fmt.Sprintf(one, i, strings.Repeat("x", 1000)))
			}
			name := map[apiform.Form]string{apiform.Messages: "messages", apiform.Responses: "input", apiform.Chat: "messages", apiform.Gemini: "contents"}[form]
			return []byte(`{"model":"m","` + name + `": [ ` + strings.Join(append(all, last), ",\n") + ` ],"tools":[{"name":"x"}],"stream":true}`)
		}
		end := fmt.Sprintf(one, 999, "y")
		before, err := apiform.Parse(form, steps(40, end))
		if err != nil {
			t.Fatal(err)
		}
		for name, body := range map[string][]byte{
			"longer": steps(60, end), "the same": steps(40, end), "shorter": steps(20, end), "other": []byte(bodies[form]),
			"two more": steps(42, end), "begins otherwise": bytes.Replace(steps(60, end), []byte("step 0"), []byte("step X"), 1),
			"ends otherwise":   bytes.Replace(steps(60, end), []byte(`"stream":true`), []byte(`"stream":false,"more":[1]`), 1),
			"a comma too many": steps(40, ""), "no end": steps(60, end)[:50_000], "twice": append(steps(60, end), steps(60, end)...),
			"no JSON in between": bytes.Replace(steps(60, end), []byte(`"t59"`), []byte(`t59`), 1),
		} {
			alone, problem := apiform.Parse(form, body)
			again, err := apiform.ParseAfter(before, form, body)
			if (err == nil) != (problem == nil) {
				t.Fatalf("%s: %v and %v", name, problem, err)
			}
			if err != nil {
				continue
			}
			if diff := cmp.Diff(describe(alone), describe(again)); diff != "" || alone.Units != again.Units || alone.Stream != again.Stream || alone.Tools != again.Tools {
				t.Errorf("%s: units %d and %d: %s", name, alone.Units, again.Units, diff)
			}
			edits := []apiform.Edit{{From: 1, To: 3, Say: []string{"x"}}}
			if a, b := alone.Rewrite(edits), again.Rewrite(edits); !bytes.Equal(a, b) {
				t.Errorf("%s: %s\n%s", name, a, b)
			}
		}
		longer := steps(41, end)
		first := testing.AllocsPerRun(5, func() { _, _ = apiform.Parse(form, longer) })
		after := testing.AllocsPerRun(5, func() { _, _ = apiform.ParseAfter(before, form, longer) })
		if after*3 > first && form != apiform.Responses { // whose elements are grouped anew
			t.Errorf("form %d: %.0f allocations, %.0f after the request before", form, first, after)
		}
	}
}

func TestRewrite(t *testing.T) {
	for form, want := range map[apiform.Form]string{
		apiform.Messages:  `{"role":"user","content":[{"type":"text","text":"one <a>"},{"type":"text","text":"two","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`,
		apiform.Responses: `{"type":"message","role":"user","content":[{"type":"input_text","text":"one <a>"},{"type":"input_text","text":"two"}]}`,
		apiform.Chat:      `{"role":"user","content":"one <a>\n\ntwo"}`,
		apiform.Gemini:    `{"role":"user","parts":[{"text":"one <a>"},{"text":"two"}]}`,
	} {
		r, err := apiform.Parse(form, []byte(bodies[form]))
		if err != nil {
			t.Fatal(err)
		}
		out := r.Rewrite([]apiform.Edit{{From: 2, To: 4, Say: []string{"one <a>", "two"}}})
		if !json.Valid(out) || !bytes.Contains(out, []byte(want)) {
			t.Errorf("%s", out)
		}
		for i := range r.Messages {
			if got := bytes.Contains(out, r.Raw(i)); got != (i < 2 || i >= 4) {
				t.Errorf("message %d is in the new body: %v", i, got)
			}
		}
		if !bytes.Equal(r.Rewrite(nil), r.Body) {
			t.Error("without edits the body has changed")
		}
	}
}

// TestForms: the path tells the form and, in Gemini's API, the model.
func TestForms(t *testing.T) {
	for path, want := range map[string]apiform.Form{"/v1/messages": apiform.Messages, "/v1/responses/": apiform.Responses, "/chat/completions": apiform.Chat,
		"/v1beta/models/gemini-x:streamGenerateContent": apiform.Gemini, "/v1beta/models/gemini-x:countTokens": apiform.None} {
		model := map[apiform.Form]string{apiform.Gemini: "gemini-x"}[want]
		if form := apiform.FormOf(path); form != want || apiform.ModelOf(path) != model {
			t.Errorf("%s: %d %q", path, form, apiform.ModelOf(path))
		}
	}
}

// TestOffers: a tool that only a text names is offered where the model can search for tools.
func TestOffers(t *testing.T) {
	const named = `"contents":[{"role":"user","parts":[{"text":"use mcp_lcm_lcm_grep"}]}],"systemInstruction":{"parts":[{"text":"lcm_grep searches"}]},"tools":[{"functionDeclarations":[{"name":`
	for tool, want := range map[string]bool{"mcp_lcm_lcm_grep": true, "ls": false, "tool_search": true, "ToolSearch": true} {
		r, err := apiform.Parse(apiform.Gemini, []byte(`{`+named+`"`+tool+`"}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Offers("lcm_grep"); got != want {
			t.Errorf("with the tool %s: offered %v", tool, got)
		}
	}
}

// TestMarks: there are never more than four cache marks.
func TestMarks(t *testing.T) {
	mark := `"cache_control":{"type":"ephemeral"}`
	for inside := range 5 {
		messages := []string{`{"role":"user","content":"a"}`, `{"role":"assistant","content":"b"}`}
		for range inside {
			messages = append(messages, `{"role":"user","content":[{"type":"text","text":"x",`+mark+`}]}`)
		}
		body := `{"messages":[` + strings.Join(messages, ",") + `]}`
		r, err := apiform.Parse(apiform.Messages, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		out := r.Rewrite([]apiform.Edit{{From: 1, To: 2, Say: []string{"s"}}})
		if got, want := strings.Count(string(out), mark), min(4, inside+1); inside > 0 && got != want {
			t.Errorf("%d marks of %d, want %d", got, inside, want)
		}
	}
}

// TestShapes: bodies that programs read in different ways are left alone.
func TestShapes(t *testing.T) {
	for name, body := range map[string]string{
		"no object":        `[]`,
		"no messages":      `{"model":"x"}`,
		"empty messages":   `{"messages":[]}`,
		"messages twice":   `{"messages":[{"role":"user","content":"a"}],"messages":[]}`,
		"escaped key":      `{"messages":[{"role":"user","content":"a","cont\u0065nt":"b"}]}`,
		"more after it":    `{"messages":[{"role":"user","content":"a"}]} x`,
		"cut":              `{"messages":[{"role":"user","content":"a"}`,
		"brackets crossed": `{"messages":[{"role":"user","content":"a"]}`,
		"unknown role":     `{"messages":[{"role":"ghost","content":"a"}]}`,
		"content a number": `{"messages":[{"role":"user","content":1}]}`,
		"call without id":  `{"messages":[{"role":"assistant","content":[{"type":"tool_use","name":"x"}]}]}`,
		"deep":             `{"messages":[{"role":"user","content":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}]}`,
	} {
		if _, err := apiform.Parse(apiform.Messages, []byte(body)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestUsage(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		stream bool
		want   apiform.Usage
	}{
		"Anthropic stream": {"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"cache_read_input_tokens\":40,\"cache_creation_input_tokens\":500,\"output_tokens\":1}}}\n\n" +
			"data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"\\\"usage\\\"\"}}\n\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":17}}\n\n", true, apiform.Usage{Input: 3, CacheRead: 40, CacheWrite: 500, Output: 17}},
		"Anthropic cut":    {"data: {\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\ndata: {\"type\":\"cont", true, apiform.Usage{Input: 3, Output: 1}},
		"Anthropic JSON":   {`{"content":[],"usage":{"input_tokens":5,"output_tokens":2}}`, false, apiform.Usage{Input: 5, Output: 2}},
		"Responses stream": {"data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":100,\"input_tokens_details\":{\"cached_tokens\":80},\"output_tokens\":9}}}\n\n", true, apiform.Usage{Input: 20, CacheRead: 80, Output: 9}},
		"Chat stream":      {"data: {\"choices\":[],\"usage\":null}\n\ndata: {\"usage\":{\"prompt_tokens\":100,\"prompt_tokens_details\":{\"cached_tokens\":60},\"completion_tokens\":7}}\n\ndata: [DONE]\n\n", true, apiform.Usage{Input: 40, CacheRead: 60, Output: 7}},
		"Gemini stream":    {"data: {\"candidates\":[],\"usageMetadata\":{\"promptTokenCount\":100,\"cachedContentTokenCount\":70,\"candidatesTokenCount\":4,\"thoughtsTokenCount\":5}}\r\n\r\n", true, apiform.Usage{Input: 30, CacheRead: 70, Output: 9}},
		"nothing":          {"data: {}\n\n", true, apiform.Usage{}},
	} {
		var got apiform.Usage
		r := &apiform.UsageReader{ReadCloser: io.NopCloser(oneByOne{strings.NewReader(c.body)}), Stream: c.stream, Done: func(u apiform.Usage) { got = u }}
		passed, err := io.ReadAll(r)
		if err != nil || string(passed) != c.body {
			t.Errorf("%s: %q, %v", name, passed, err)
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// oneByOne reads a few bytes at a time, as from a network.
type oneByOne struct{ r io.Reader }

func (o oneByOne) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 7)]) }

// FuzzParse: no body makes Parse panic; a body that is valid JSON stays valid JSON with
// any edit, and keeps the bytes of every other message.
func FuzzParse(f *testing.F) {
	for form, body := range bodies {
		f.Add(int(form)-1, []byte(body), 1, 2)
	}
	f.Add(0, []byte(`{"messages":[{"role":"user","content":"\ud800"}]}`), 0, 1)
	f.Fuzz(func(t *testing.T, form int, body []byte, from, to int) {
		r, err := apiform.Parse(apiform.Form(1+(form&0xff)%4), body)
		if err != nil {
			return
		}
		again, err := apiform.ParseAfter(r, r.Form, body)
		if err != nil || describe(again) != describe(r) || again.Units != r.Units {
			t.Fatal("a second reading differs")
		}
		if !bytes.Equal(r.Rewrite(nil), body) {
			t.Fatal("without edits the body has changed")
		}
		n := len(r.Messages)
		from = (from&0xffff)%n + 0
		to = from + 1 + (to&0xffff)%(n-from)
		out := r.Rewrite([]apiform.Edit{{From: from, To: to, Say: []string{"said"}}})
		if json.Valid(body) && !json.Valid(out) {
			t.Fatalf("not JSON any more: %s", out)
		}
		for i := range r.Messages {
			if (i < from || i >= to) && !bytes.Contains(out, r.Raw(i)) {
				t.Fatalf("message %d has changed", i)
			}
			for _, text := range r.Messages[i].Texts {
				_ = text.String()
			}
			for _, call := range r.Messages[i].Results {
				if text, ok := r.Messages[i].Output(call); ok {
					_ = text.String()
				}
			}
		}
	})
}

// TestCallKey: OpenClaw sends the ids of calls without punctuation.
func TestCallKey(t *testing.T) {
	if apiform.CallKey("call_28327_000001") != apiform.CallKey("call28327000001") || apiform.CallKey("call_1") == apiform.CallKey("call_2") || apiform.CallKey("toolu_aB") == apiform.CallKey("toolu_ab") {
		t.Error("ids are not told apart by their letters and digits")
	}
}
