package anthropic_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/anthropic"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// serve opens a model on a server that answers everything with one body.
func serve(t *testing.T, status int, contentType, body string) *anthropic.Model {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	client, closeIdle := llmtest.Client()
	t.Cleanup(func() { closeIdle(); server.Close() })
	model, err := anthropic.New(anthropic.Config{Model: "m", BaseURL: server.URL, MaxRetries: -1, HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// events writes server-sent events from their data.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		kind, _, _ := strings.Cut(strings.TrimPrefix(d, `{"type":"`), `"`)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", kind, d)
	}
	return b.String()
}

// Servers differ. What they leave out, or say in another place, is read all
// the same.
func TestOddStreams(t *testing.T) {
	const start = `{"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":1,"output_tokens":1}}}`
	const end = `{"type":"message_stop"}`
	tests := []struct {
		name string
		data []string
		want llms.Response
	}{
		{"redacted reasoning goes into a part of its own", []string{start,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"secret"}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`, end},
			llms.Response{Stop: llms.StopEnd, Model: "m", Usage: llms.Usage{InputTokens: 1, OutputTokens: 3}, Message: llms.Message{
				ID: "msg_1", Role: llms.RoleAssistant, Parts: []llms.Part{
					{Kind: llms.PartReasoning, Text: "hm", Signature: "sig"},
					{Kind: llms.PartReasoning, Signature: "secret", Extra: []byte(`{"type":"redacted_thinking"}`)}}}}},
		{"arguments at the start, input tokens at the end, text at once", []string{start,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"whole"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"look","input":{"at":"it"}}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"brand_new_event","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":40,"cache_read_input_tokens":2,"output_tokens":5}}`, end},
			llms.Response{Stop: llms.StopToolCalls, Model: "m", Usage: llms.Usage{InputTokens: 42, OutputTokens: 5, CacheReadTokens: 2}, Message: llms.Message{
				ID: "msg_1", Role: llms.RoleAssistant, Parts: []llms.Part{
					{Kind: llms.PartText, Text: "whole"},
					{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "t", Name: "look", Arguments: `{"at":"it"}`}}}}}},
		{"a stop text", []string{start,
			`{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END"},"usage":{"output_tokens":1}}`, end},
			llms.Response{Stop: llms.StopSequence, Model: "m", Usage: llms.Usage{InputTokens: 1, OutputTokens: 1},
				Message: llms.Message{ID: "msg_1", Role: llms.RoleAssistant}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			model := serve(t, http.StatusOK, "text/event-stream", events(test.data...))
			got, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestOddFailures(t *testing.T) {
	tests := []struct {
		name, contentType, body string
		status                  int
		class                   llms.Class
		want                    string
	}{
		{"a proxy's page", "text/html", "<html>Bad Gateway" + strings.Repeat("!", 2000), 502, llms.ClassTransient, "Bad Gateway"},
		{"no body", "application/json", "", 503, llms.ClassTransient, "gave no reason"},
		{"a page instead of a stream", "text/html", "<html>Welcome</html>", 200, llms.ClassTransient, "broke off"},
		{"overloaded in the stream", "text/event-stream", events(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), 200, llms.ClassTransient, "Overloaded"},
		{"no money in the stream", "text/event-stream", events(`{"type":"error","error":{"type":"billing_error","message":"pay"}}`), 200, llms.ClassQuota, "pay"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			model := serve(t, test.status, test.contentType, test.body)
			_, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
			if llms.ClassOf(err) != test.class || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 800 {
				t.Errorf("class %q, error %v", llms.ClassOf(err), err)
			}
		})
	}
}

// home sends what is meant for the provider's own server to a scripted one.
type home struct {
	to   *url.URL
	next http.RoundTripper
}

func (h home) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "api.anthropic.com" {
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
	model, err := anthropic.New(anthropic.Config{Model: "m", APIKey: "k", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := llms.Complete(t.Context(), model, llms.Request{MaxTokens: 9, Messages: []llms.Message{llms.User("go")}}); err != nil {
		t.Fatal(err)
	}
	if body := string(server.Exchanges()[0].Body); !strings.Contains(body, `"cache_control":{"type":"ephemeral"}`) {
		t.Errorf("the request is %s", body)
	}
}
