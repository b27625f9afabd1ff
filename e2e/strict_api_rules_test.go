package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/llms/llmtest"
)

// postAPI sends a body and returns the status and the answer.
func postAPI(t *testing.T, api http.Handler, path, body string, header ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	func() {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				panic(p)
			}
		}()
		api.ServeHTTP(w, r)
	}()
	answer, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(answer)
}

const (
	userMessage   = `{"role":"user","content":"go play:a"}`
	callMessage   = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}`
	resultMessage = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}`
)

func anthropicBody(ms ...string) string {
	return `{"model":"claude","max_tokens":9,"stream":true,"messages":[` + strings.Join(ms, ",") + `]}`
}

func TestAnthropicRules(t *testing.T) {
	text := func(role, s string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, s) }
	mark := func(ttl string) string {
		return `{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"` + ttl + `"}}`
	}
	tests := []struct{ name, body, refused string }{
		{"a prompt", anthropicBody(userMessage), ""},
		{"a call and its result", anthropicBody(userMessage, callMessage, resultMessage), ""},
		{"a system message in its place", anthropicBody(userMessage, text("system", "x"), callMessage, resultMessage, text("system", "y")), ""},
		{"a call without a result", anthropicBody(userMessage, callMessage, text("user", "x")), "without `tool_result`"},
		{"a result without a call", anthropicBody(userMessage, resultMessage), "unexpected `tool_use_id`"},
		{"a result twice", anthropicBody(userMessage, callMessage, resultMessage, resultMessage), "unexpected `tool_use_id`"},
		{"a call twice", anthropicBody(userMessage, callMessage, resultMessage, callMessage, resultMessage), "must be unique"},
		{"a text before a result", anthropicBody(userMessage, callMessage, text("user", "x"), resultMessage), "after other content"},
		{"the model first", anthropicBody(text("assistant", "x"), userMessage), "first message"},
		{"the model last", anthropicBody(userMessage, text("assistant", "x")), "prefill"},
		{"system first", anthropicBody(text("system", "x"), userMessage), "first message"},
		{"system after the model", anthropicBody(userMessage, text("assistant", "x"), text("system", "y"), userMessage), `role \"system\"`},
		{"system before the user", anthropicBody(userMessage, text("system", "y"), userMessage), `role \"system\"`},
		{"system twice", anthropicBody(userMessage, text("system", "y"), text("system", "z")), `role \"system\"`},
		{"an unknown role", anthropicBody(userMessage, text("tool", "x")), "unexpected role"},
		{"an empty text", anthropicBody(text("user", "")), "non-whitespace"},
		{"a blank text", anthropicBody(`{"role":"user","content":[{"type":"text","text":" \n"}]}`), "non-whitespace"},
		{"no content", anthropicBody(`{"role":"user","content":[]}`), "non-empty content"},
		{"no messages", anthropicBody(), "at least one"},
		{"an unknown signature", anthropicBody(userMessage, `{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"y"}]}`, userMessage), "Invalid `signature`"},
		{"an unknown block", anthropicBody(`{"role":"user","content":[{"type":"note","text":"x"}]}`), "does not match"},
		{"a call by the user", anthropicBody(`{"role":"user","content":[{"type":"tool_use","id":"t1","name":"x","input":{}}]}`), "assistant messages"},
		{"four marks", anthropicBody(`{"role":"user","content":[` + strings.Join([]string{mark("1h"), mark("1h"), mark("5m"), mark("5m")}, ",") + `]}`), ""},
		{"five marks", anthropicBody(`{"role":"user","content":[` + strings.Repeat(mark("5m")+",", 4) + mark("5m") + `]}`), "maximum of 4"},
		{"1h after 5m", anthropicBody(`{"role":"user","content":[` + mark("5m") + "," + mark("1h") + `]}`), "must not come after"},
		{"above the window", anthropicBody(text("user", strings.Repeat("x", 4000))), "prompt is too long: 1022 tokens > 1000 maximum"},
		{"not JSON", "{", "not JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := newStrictAPI(apiOptions{Window: func(string, http.Header) int { return 1000 }})
			verifyAPI(t, api, "/v1/messages", tt.body, tt.refused)
		})
	}
}

func TestGeminiRules(t *testing.T) {
	const prompt, call, result = `{"role":"user","parts":[{"text":"go"}]}`, `{"role":"model","parts":[{"functionCall":{"id":"1","name":"ls"}}]}`, `{"role":"user","parts":[{"functionResponse":{"id":"1","name":"ls","response":{}}}]}`
	for name, tt := range map[string]struct{ contents, refused string }{
		"a call and its response":   {prompt + "," + call + "," + result, ""},
		"two prompts":               {prompt + "," + prompt, ""},
		"a call without a response": {prompt + "," + call + "," + prompt, "number of function response parts"},
		"a call at the end":         {prompt + "," + call, "have no responses"},
		"a response without a call": {prompt + "," + result, "immediately after"},
		"the model first":           {call + "," + result, "first content"},
		"no parts":                  {`{"role":"user","parts":[]}`, "must not be empty"},
		"another role":              {`{"role":"tool","parts":[{}]}`, "valid role"},
	} {
		t.Run(name, func(t *testing.T) {
			verifyAPI(t, newStrictAPI(apiOptions{}), "/v1beta/models/g:generateContent", `{"contents":[`+tt.contents+`]}`, tt.refused)
		})
	}
}

// verifyAPI sends a body and checks whether it is refused, and why.
func verifyAPI(t *testing.T, api *strictAPI, path, body, refused string) {
	t.Helper()
	status, answer := postAPI(t, api, path, body)
	want := http.StatusOK
	if refused != "" {
		want = http.StatusBadRequest
	}
	if status != want || !strings.Contains(answer, refused) {
		t.Errorf("status %d, answer %s", status, answer)
	}
	if got := api.Records()[0].Refused; (got != "") != (refused != "") {
		t.Errorf("the record says %q", got)
	}
}

func TestResponsesRules(t *testing.T) {
	body := func(items ...string) string {
		return `{"model":"gpt","stream":true,"tools":[],"input":[` + strings.Join(items, ",") + `]}`
	}
	const (
		user   = `{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}`
		call   = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"exec","arguments":"{}"}`
		output = `{"type":"function_call_output","call_id":"c1","output":"x"}`
	)
	tests := []struct{ name, body, refused string }{
		{"a prompt", body(user), ""},
		{"a call and its output", body(user, call, output), ""},
		{"a call without an output", body(user, call), "no tool output"},
		{"an output without a call", body(user, output), "No tool call"},
		{"an output twice", body(user, call, output, output), "No tool call"},
		{"a call twice", body(user, call, output, strings.Replace(call, "fc_1", "fc_2", 1), output), "repeats"},
		{"an id twice", body(user, call, output, strings.Replace(call, "c1", "c2", 1)), "Duplicate item"},
		{"reasoning of another", body(user, `{"type":"reasoning","id":"rs_1","encrypted_content":"x"}`, call, output), "could not be verified"},
		{"an empty message", body(user, `{"type":"message","role":"user","content":[]}`), "empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			verifyAPI(t, newStrictAPI(apiOptions{}), "/v1/responses", tt.body, tt.refused)
		})
	}
}

func TestChatRules(t *testing.T) {
	body := func(ms ...string) string {
		return `{"model":"gpt","stream":true,"messages":[` + strings.Join(ms, ",") + `]}`
	}
	const (
		user   = `{"role":"user","content":"go"}`
		call   = `{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}]}`
		output = `{"role":"tool","tool_call_id":"c1","content":"x"}`
	)
	tests := []struct{ name, body, refused string }{
		{"a call and its output", body(user, call, output), ""},
		{"a call without an output", body(user, call), "no tool message"},
		{"a message between", body(user, call, user, output), "must be followed"},
		{"an output without a call", body(user, output), "must be a response"},
		{"a call twice", body(user, call, output, call, output), "repeats"},
		{"an empty message", body(user, `{"role":"assistant","content":""}`), "empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			verifyAPI(t, newStrictAPI(apiOptions{}), "/v1/chat/completions", tt.body, tt.refused)
		})
	}
}

// Thinking is accepted back with the signature that it was given, and no other.
func TestSignatures(t *testing.T) {
	api := newStrictAPI(apiOptions{Script: func(playStep) llmtest.Reply {
		return llmtest.Reply{Reasoning: "hm", Text: "done"}
	}})
	_, answer := postAPI(t, api, "/v1/messages", `{"model":"m","tools":[{"name":"Bash"}],"messages":[`+userMessage+`]}`)
	_, rest, _ := strings.Cut(answer, `"signature":"`)
	signature, _, _ := strings.Cut(rest, `"`)
	if signature == "" {
		t.Fatalf("no signature in %s", answer)
	}
	back := func(thinking string) string {
		return anthropicBody(userMessage, `{"role":"assistant","content":[{"type":"thinking","thinking":"`+thinking+`","signature":"`+signature+`"}]}`, userMessage)
	}
	if status, answer := postAPI(t, api, "/v1/messages", back("hm")); status != http.StatusOK {
		t.Errorf("the model's own thinking: %s", answer)
	}
	if status, _ := postAPI(t, api, "/v1/messages", back("changed")); status != http.StatusBadRequest {
		t.Error("changed thinking was accepted")
	}
}

// The cache reads from the last mark of the request before, if it is not farther
// than twenty blocks and not too old.
func TestAnthropicCache(t *testing.T) {
	now := time.Unix(0, 0)
	api := newStrictAPI(apiOptions{Now: func() time.Time { return now }})
	long := strings.Repeat("x", 8000)
	request := func(first string, blocks int) apiRecord {
		t.Helper()
		body := `{"role":"user","content":[{"type":"text","text":"` + first + `"}`
		for i := range blocks {
			mark := ""
			if i == blocks-1 {
				mark = `,"cache_control":{"type":"ephemeral"}`
			}
			body += fmt.Sprintf(`,{"type":"text","text":"%d"%s}`, i, mark)
		}
		if status, answer := postAPI(t, api, "/v1/messages", anthropicBody(body+"]}")); status != http.StatusOK {
			t.Fatal(answer)
		}
		records := api.Records()
		return records[len(records)-1]
	}
	a := request(long, 1)
	if a.Read != 0 || a.Written < 2000 {
		t.Errorf("the first request reads %d and writes %d", a.Read, a.Written)
	}
	if b := request(long, 3); b.Read != a.Written || b.Written == 0 || b.Written > 30 {
		t.Errorf("the second request reads %d of %d and writes %d", b.Read, a.Written, b.Written)
	}
	if c := request(long, 3+20); c.Read != 0 {
		t.Errorf("twenty-one blocks after the mark, %d tokens are read", c.Read)
	}
	if c := request(long, 3+20+19); c.Read == 0 {
		t.Error("nineteen blocks after the mark, nothing is read")
	}
	if d := request("y"+long, 3); d.Read != 0 {
		t.Errorf("another beginning reads %d", d.Read)
	}
	now = now.Add(5*time.Minute + time.Second)
	if e := request(long, 3); e.Read != 0 {
		t.Errorf("after five minutes %d tokens are read", e.Read)
	}
}

func TestOpenAICache(t *testing.T) {
	api := newStrictAPI(apiOptions{})
	ask := func(texts ...string) apiRecord {
		t.Helper()
		var ms []string
		for _, s := range texts {
			ms = append(ms, fmt.Sprintf(`{"role":"user","content":%q}`, s))
		}
		if status, answer := postAPI(t, api, "/chat/completions", `{"model":"m","messages":[`+strings.Join(ms, ",")+`]}`); status != http.StatusOK {
			t.Fatal(answer)
		}
		records := api.Records()
		return records[len(records)-1]
	}
	long := strings.Repeat("x", 8000)
	if a := ask(long, "1"); a.Read != 0 || a.Written != 0 {
		t.Errorf("the first request reads %d and writes %d", a.Read, a.Written)
	}
	if b := ask(long, "1", "2"); b.Read < 2000 || b.Cost() > 260 {
		t.Errorf("the second request reads %d and costs %.0f", b.Read, b.Cost())
	}
	if c := ask("0", long, "1"); c.Read != 0 {
		t.Errorf("another beginning reads %d", c.Read)
	}
}

// A play goes on by the results in the request, repeats a step that failed, and
// goes on after a compaction that left nothing of it.
func TestPlay(t *testing.T) {
	var steps []string
	api := newStrictAPI(apiOptions{Script: func(s playStep) llmtest.Reply {
		steps = append(steps, fmt.Sprintf("%s %d/%d %v", s.Play, s.Number, s.Attempt, s.Results))
		if s.Number == 1 && s.Attempt == 0 {
			return llmtest.Status(529, "overloaded")
		}
		return llmtest.Call("Bash", map[string]any{})
	}})
	ask := func(ms ...string) (int, string) {
		return postAPI(t, api, "/v1/messages", `{"model":"m","tools":[{"name":"Bash"}],"messages":[`+strings.Join(ms, ",")+`]}`, "X-Claude-Code-Session-Id", "s")
	}
	_, answer := ask(userMessage)
	_, rest, _ := strings.Cut(answer, `"id":"call_`)
	id, _, _ := strings.Cut(rest, `"`)
	turn := []string{userMessage, strings.Replace(callMessage, "t1", "call_"+id, 1), strings.Replace(resultMessage, "t1", "call_"+id, 1)}
	if status, _ := ask(turn...); status != 529 {
		t.Errorf("the fault is answered with %d", status)
	}
	ask(turn...)
	ask(`{"role":"user","content":"This session goes on."}`)
	ask(userMessage, `{"role":"assistant","content":"x"}`, `{"role":"user","content":"play:b"}`)
	ask(`{"role":"user","content":"Write a detailed summary of the conversation so far"}`)
	if got, want := strings.Join(steps, ", "), "a 0/0 [], a 1/0 [{Bash x}], a 1/1 [{Bash x}], a 2/0 [], b 0/0 []"; got != want {
		t.Errorf("steps %s, want %s", got, want)
	}
	records := api.Records()
	if last := records[len(records)-1]; last.Kind != compactionRequest {
		t.Errorf("the order to compact is taken for %s", last.Kind)
	}
	if records[1].Fault != 529 || records[1].Cost() != 0 {
		t.Errorf("the failed request is recorded as %+v", records[1])
	}
}

func TestKey(t *testing.T) {
	api := newStrictAPI(apiOptions{Key: "secret"})
	for header, want := range map[string]int{"X-Api-Key": http.StatusOK, "X-Other": http.StatusUnauthorized} {
		if status, _ := postAPI(t, api, "/v1/messages", anthropicBody(userMessage), header, "secret"); status != want {
			t.Errorf("%s: %d", header, status)
		}
	}
	if status, answer := postAPI(t, api, "/v1/messages/count_tokens", anthropicBody(userMessage), "Authorization", "Bearer secret"); status != http.StatusOK || !strings.Contains(answer, `"input_tokens":`) {
		t.Errorf("count_tokens: %d %s", status, answer)
	}
}
