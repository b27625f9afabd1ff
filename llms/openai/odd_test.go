package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/llms/openai"
)

// serve opens a model on a server that answers everything with one body.
func serve(t *testing.T, api openai.API, status int, contentType, body string) *openai.Model {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	client, closeIdle := llmtest.Client()
	t.Cleanup(func() { closeIdle(); server.Close() })
	made := 0
	model, err := openai.New(openai.Config{Model: "m", API: api, BaseURL: server.URL, MaxRetries: -1, HTTPClient: client,
		NewID: func() string { made++; return fmt.Sprintf("made_%d", made) }})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func chunks(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		fmt.Fprintf(&b, "data: %s\n\n", d)
	}
	return b.String()
}

// called is an answer of just calls.
func called(calls ...llms.ToolCall) llms.Response {
	r := llms.Response{Stop: llms.StopToolCalls, Model: "m", Message: llms.Message{ID: "1", Role: llms.RoleAssistant}}
	for _, call := range calls {
		r.Message.Parts = append(r.Message.Parts, llms.Part{Kind: llms.PartToolCall, Call: &call})
	}
	return r
}

// answers is a connection that answers everything with one stream.
type answers string

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// Ids that the model makes up name one call only, in any turn.
func TestMadeUpIdsAreUnique(t *testing.T) {
	body := chunks(`{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"now"}}]},"finish_reason":"tool_calls"}]}`)
	client := &http.Client{Transport: answers(body)}
	model, err := openai.New(openai.Config{Model: "m", BaseURL: "http://server.invalid", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 3 {
		got, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
		if err != nil || len(got.Message.ToolCalls()) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		if id := got.Message.ToolCalls()[0].ID; seen[id] || id == "" {
			t.Errorf("id %q names two calls", id)
		} else {
			seen[id] = true
		}
	}
}

// Compatible servers differ. What they leave out, or say in another place, is
// read all the same.
func TestOddCompletions(t *testing.T) {
	tests := []struct {
		name string
		data []string
		want llms.Response
	}{
		{"calls without ids, under the wrong reason", []string{
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"look","arguments":"{\"at\":"}}]}}]}`,
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"name":"now"}}]},"finish_reason":"stop"}]}`},
			llms.Response{Stop: llms.StopToolCalls, Model: "m", Message: llms.Message{ID: "1", Role: llms.RoleAssistant, Parts: []llms.Part{
				{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "made_1", Name: "look", Arguments: `{"at":1}`}},
				{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "made_2", Name: "now", Arguments: `{}`}}}}}},
		{"one index for all calls, whole", []string{
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"at\":1}"}}]}}]}`,
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"look","arguments":"{\"at\":2}"}}]}}]}`,
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`},
			called(llms.ToolCall{ID: "a", Name: "look", Arguments: `{"at":1}`}, llms.ToolCall{ID: "b", Name: "look", Arguments: `{"at":2}`})},
		{"one index for all calls, in pieces", []string{
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":""}}]}}]}`,
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"at\""}}]}}]}`,
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}`,
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"look"}}]}}]}`,
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"at\":2}"}}]},"finish_reason":"tool_calls"}]}`},
			called(llms.ToolCall{ID: "a", Name: "look", Arguments: `{"at":1}`}, llms.ToolCall{ID: "b", Name: "look", Arguments: `{"at":2}`})},
		{"one index and no id, or one id, for all", []string{
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"look","arguments":"{\"at\":1}"}}]}}]}`,
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"look","arguments":"{\"at\":2}"}}]}}]}`,
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"x","function":{"name":"now"}},{"index":2,"id":"x","function":{"name":"now"}}]},"finish_reason":"tool_calls"}]}`},
			called(llms.ToolCall{ID: "made_1", Name: "look", Arguments: `{"at":1}`}, llms.ToolCall{ID: "made_2", Name: "look", Arguments: `{"at":2}`},
				llms.ToolCall{ID: "x", Name: "now", Arguments: `{}`}, llms.ToolCall{ID: "made_3", Name: "now", Arguments: `{}`})},
		{"reasoning under another name, a second choice, usage beside the end", []string{
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"reasoning":"hm"}},{"index":1,"delta":{"content":"other"}}]}`,
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"yes"},"finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`,
			`[DONE]`},
			llms.Response{Stop: llms.StopLength, Model: "m", Usage: llms.Usage{InputTokens: 3, OutputTokens: 2}, Message: llms.Message{
				ID: "1", Role: llms.RoleAssistant, Parts: []llms.Part{{Kind: llms.PartReasoning, Text: "hm"}, {Kind: llms.PartText, Text: "yes"}}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			model := serve(t, openai.Chat, http.StatusOK, "text/event-stream", chunks(test.data...))
			got, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// A refusal comes in a field of its own and finishes like any other answer. It
// must not be taken for one.
func TestRefusalsAreNoAnswers(t *testing.T) {
	tests := map[openai.API]string{
		openai.Chat: chunks(
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null}}]}`,
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"refusal":"I will "}}]}`,
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"refusal":"not."}}]}`,
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`),
		openai.Responses: chunks(
			`{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}`,
			`{"type":"response.refusal.delta","delta":"I will "}`,
			`{"type":"response.refusal.delta","delta":"not."}`,
			`{"type":"response.refusal.done","refusal":"I will not."}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"I will not."}]}]}}`),
	}
	for api, body := range tests {
		model := serve(t, api, http.StatusOK, "text/event-stream", body)
		got, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
		if err != nil || got.Stop != llms.StopRefusal || got.Message.PlainText() != "I will not." {
			t.Errorf("%s: stop %q, text %q, %v", api, got.Stop, got.Message.PlainText(), err)
		}
	}
}

// Some servers count in every chunk, and a failed response may carry its cost.
func TestTheCostOfABrokenAnswer(t *testing.T) {
	tests := map[openai.API]string{
		openai.Chat: chunks(`{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":70,"completion_tokens":1,"total_tokens":71}}`,
			`{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"b"}}],"usage":{"prompt_tokens":70,"completion_tokens":2,"total_tokens":72}}`),
		openai.Responses: chunks(`{"type":"response.failed","response":{"error":{"code":"server_error","message":"oops"},"usage":{"input_tokens":70,"output_tokens":2,"total_tokens":72}}}`),
	}
	for api, body := range tests {
		model := serve(t, api, http.StatusOK, "text/event-stream", body)
		got, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
		if err == nil || got.Usage != (llms.Usage{InputTokens: 70, OutputTokens: 2}) {
			t.Errorf("%s: %+v, %v", api, got.Usage, err)
		}
	}
}

func TestOddFailures(t *testing.T) {
	tests := []struct {
		name, contentType, body string
		api                     openai.API
		status                  int
		class                   llms.Class
		want                    string
	}{
		{"a proxy's page", "text/html", "<html>Bad Gateway" + strings.Repeat("!", 2000), openai.Chat, 502, llms.ClassTransient, "502"},
		{"no body", "application/json", "", openai.Chat, 503, llms.ClassTransient, "503"},
		{"no money", "application/json", `{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}`, openai.Chat, 429, llms.ClassQuota, "pay"},
		{"no reason to stop", "text/event-stream", chunks(`{"id":"1","choices":[{"index":0,"delta":{"content":"x"}}]}`, "[DONE]"), openai.Chat, 200, llms.ClassTransient, "broke off"},
		{"an error in the stream", "text/event-stream", chunks(`{"error":{"message":"maximum context length is 4096","code":400}}`), openai.Chat, 200, llms.ClassContextLength, "4096"},
		{"an error in the stream, as text", "text/event-stream", chunks(`{"error":"out of memory"}`), openai.Chat, 200, llms.ClassTransient, "out of memory"},
		{"an error event", "text/event-stream", chunks(`{"type":"error","code":"rate_limit_exceeded","message":"slow","sequence_number":1}`), openai.Responses, 200, llms.ClassQuota, "slow"},
		{"a failed response", "text/event-stream", chunks(`{"type":"response.failed","response":{"error":{"code":"server_error","message":"oops"}}}`), openai.Responses, 200, llms.ClassTransient, "oops"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			model := serve(t, test.api, test.status, test.contentType, test.body)
			_, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
			if llms.ClassOf(err) != test.class || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 800 {
				t.Errorf("class %q, error %v", llms.ClassOf(err), err)
			}
		})
	}
}

// What the Responses API has no place for is told in words.
func TestResponsesInput(t *testing.T) {
	server, err := llmtest.Serve(llmtest.Script(llmtest.Say("ok")))
	if err != nil {
		t.Fatal(err)
	}
	client, closeIdle := llmtest.Client()
	t.Cleanup(func() { closeIdle(); server.Close() })
	model, err := openai.New(openai.Config{Model: "m", API: openai.Responses, BaseURL: server.URL + "/v1", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	blob := func(mime, url string, data []byte) llms.Part {
		return llms.Part{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: mime, Name: "n", URL: url, Data: data}}
	}
	_, err = llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{
		{Role: llms.RoleUser, Parts: []llms.Part{blob("image/png", "http://x/y.png", nil), blob("application/pdf", "", []byte("pdf")), blob("application/pdf", "http://x/z.pdf", nil),
			{Kind: llms.PartBlob, Ref: &llms.Ref{ID: "file_0123456789abcdef", Name: "big.log"}}}},
		{Role: llms.RoleAssistant, Parts: []llms.Part{blob("image/png", "", []byte("png")), {Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "c", Name: "look", Arguments: "{}"}}}},
		{Role: llms.RoleTool, Parts: []llms.Part{{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "c", Output: []llms.Part{blob("image/png", "", []byte("png"))}}}}},
		{Role: llms.RoleTool, Parts: []llms.Part{{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "d"}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	body := string(server.Exchanges()[0].Body)
	for _, want := range []string{
		`{"type":"input_image","image_url":"http://x/y.png","detail":"auto"}`,
		`{"type":"input_file","filename":"n","file_data":"data:application/pdf;base64,cGRm"}`,
		`{"type":"input_file","filename":"n","file_url":"http://x/z.pdf"}`,
		`file_0123456789abcdef`,
		`"content":[{"type":"output_text","text":"[image/png n`,
		`{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:image/png;base64,cG5n","detail":"auto"}]}`,
		`{"type":"function_call_output","call_id":"d","output":""}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing from %s", want, body)
		}
	}
}

// A failed tool says so in words, since the APIs have no mark for it.
func TestFailedResultsSaySo(t *testing.T) {
	picture := llms.Part{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Data: []byte("png")}}
	results := []llms.Message{
		llms.Result("a", "look", "disk full", true),
		llms.Result("b", "look", "Error: no luck", true),
		llms.Result("c", "look", "", true),
		llms.Result("d", "look", "fine", false),
		{Role: llms.RoleTool, Parts: []llms.Part{{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "e", IsError: true, Output: []llms.Part{picture}}}}},
	}
	want := []string{"a Error: disk full", "b Error: no luck", "c Error: the tool failed", "d fine", "e Error: the tool failed"}
	for _, api := range []openai.API{openai.Chat, openai.Responses} {
		server, err := llmtest.Serve(llmtest.Script(llmtest.Say("ok")))
		if err != nil {
			t.Fatal(err)
		}
		client, closeIdle := llmtest.Client()
		t.Cleanup(func() { closeIdle(); server.Close() })
		model, err := openai.New(openai.Config{Model: "m", API: api, BaseURL: server.URL + "/v1", HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		before := fmt.Sprintf("%+v", results[0].Parts[0].Result)
		if _, err := llms.Complete(t.Context(), model, llms.Request{Messages: append([]llms.Message{llms.User("go")}, results...)}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range server.Exchanges()[0].Request.Messages {
			for _, r := range m.ToolResults() {
				got = append(got, r.CallID+" "+r.Output[0].Text)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the model reads (-want +got):\n%s", api, diff)
		}
		if after := fmt.Sprintf("%+v", results[0].Parts[0].Result); after != before {
			t.Errorf("%s: the caller's message became %s", api, after)
		}
	}
}

// home sends what is meant for the provider's own server to a scripted one.
type home struct {
	to   *url.URL
	next http.RoundTripper
}

func (h home) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "api.openai.com" {
		return nil, fmt.Errorf("a call to %s", r.URL.Host)
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = h.to.Scheme, h.to.Host
	return h.next.RoundTrip(r)
}

// The provider's own server is told what only it knows.
func TestTheProvidersOwnServer(t *testing.T) {
	server, err := llmtest.Serve(llmtest.Script(llmtest.Say("hi")))
	if err != nil {
		t.Fatal(err)
	}
	client, closeIdle := llmtest.Client()
	t.Cleanup(func() { closeIdle(); server.Close() })
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client.Transport = home{to, client.Transport}
	model, err := openai.New(openai.Config{Model: "m", APIKey: "k", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := llms.Complete(t.Context(), model, llms.Request{MaxTokens: 9, Messages: []llms.Message{llms.User("go")}}); err != nil {
		t.Fatal(err)
	}
	if body := string(server.Exchanges()[0].Body); !strings.Contains(body, `"max_completion_tokens":9`) {
		t.Errorf("the request is %s", body)
	}
}
