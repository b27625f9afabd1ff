package llmtest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/anthropic"
	. "github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/llms/openai"
)

// modelOptions are the settings that the suite passes to a provider's constructor.
type modelOptions struct {
	BaseURL     string        // of a Server, without /v1
	Key         string        // for the provider
	MaxRetries  int           // negative for none
	IdleTimeout time.Duration // without an event
	HTTPClient  *http.Client  // for all calls
}

// retries is how often a model under test tries again before the first word
// of an answer, unless it is told not to.
const retries = 2

// suiteKey is a key that must not appear anywhere but in a request's header.
// It does not look like a key, so that only a model that hides its own key
// can hide it.
const suiteKey = "opensesame0123456789"

// The models of providers keep the promises of [llms.Model]. Each runs with its real SDK
// against a scripted server.
func TestModels(t *testing.T) {
	t.Run("anthropic", func(t *testing.T) {
		testModel(t, func(o modelOptions) (llms.Model, error) {
			return anthropic.New(anthropic.Config{Model: "claude-test", APIKey: o.Key, BaseURL: o.BaseURL,
				MaxRetries: o.MaxRetries, IdleTimeout: o.IdleTimeout, HTTPClient: o.HTTPClient})
		})
	})
	for _, api := range []openai.API{openai.Chat, openai.Responses} {
		t.Run("openai "+string(api), func(t *testing.T) {
			testModel(t, func(o modelOptions) (llms.Model, error) {
				return openai.New(openai.Config{Model: "gpt-test", API: api, APIKey: o.Key, BaseURL: o.BaseURL + "/v1",
					MaxRetries: o.MaxRetries, IdleTimeout: o.IdleTimeout, HTTPClient: o.HTTPClient})
			})
		})
	}
}

func testModel(t *testing.T, open func(modelOptions) (llms.Model, error)) {
	s := &suite{open: open}
	t.Run("conversation with parallel tool calls", s.conversation)
	t.Run("request", s.request)
	t.Run("image", s.image)
	t.Run("broken arguments", s.brokenArguments)
	t.Run("no arguments", s.noArguments)
	t.Run("stop reasons", s.stopReasons)
	t.Run("faults", s.faults)
	t.Run("partial answer", s.partialAnswer)
	t.Run("cost of what breaks off", s.costs)
	t.Run("retries", s.retries)
	t.Run("hang", s.hang)
	t.Run("slow but lively", s.lively)
	t.Run("cancellation", s.cancellation)
	t.Run("leaving early", s.leavingEarly)
	t.Run("the key stays hidden", s.hiddenKey)
	t.Run("many at once", s.manyAtOnce)
	t.Run("no server", s.noServer)
}

type suite struct {
	open func(modelOptions) (llms.Model, error)
}

// start serves a model and opens a model on it.
func (s *suite) start(t *testing.T, m Responder, change ...func(*modelOptions)) (llms.Model, *Server) {
	t.Helper()
	server, err := Serve(m)
	if err != nil {
		t.Fatal(err)
	}
	client, closeIdle := Client()
	t.Cleanup(func() {
		closeIdle()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	options := modelOptions{BaseURL: server.URL, Key: suiteKey, MaxRetries: retries, HTTPClient: client}
	for _, f := range change {
		f(&options)
	}
	model, err := s.open(options)
	if err != nil {
		t.Fatal(err)
	}
	return model, server
}

var suiteTool = llms.ToolSpec{Name: "add", Description: "Adds numbers.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"integer"}},"required":["b","a"]}`)}

func (s *suite) conversation(t *testing.T) {
	model, server := s.start(t, ByTurn(
		Reply{Reasoning: "two sums at once", Text: "Let me add ümläuts.", Usage: llms.Usage{InputTokens: 100, OutputTokens: 20, CacheReadTokens: 60},
			Calls: []llms.ToolCall{{ID: "call_a", Name: "add", Arguments: `{"a":1,"b":2,"note":"größer als zwölf Zeichen"}`}, {ID: "call_b", Name: "add", Arguments: `{"a":3,"b":4}`}}},
		Reply{Text: "3 and 7.", Usage: llms.Usage{InputTokens: 150, OutputTokens: 5}}))
	request := llms.Request{System: "You add.", Tools: []llms.ToolSpec{suiteTool}, Messages: []llms.Message{llms.User("1+2 and 3+4?")}}

	first, err := llms.Complete(t.Context(), model, request)
	if err != nil {
		t.Fatal(err)
	}
	if got := first.Message.PlainText(); got != "Let me add ümläuts." {
		t.Errorf("text %q", got)
	}
	if i := slices.IndexFunc(first.Message.Parts, func(p llms.Part) bool { return p.Kind == llms.PartReasoning }); i != 0 || first.Message.Parts[0].Text != "two sums at once" {
		t.Errorf("reasoning is part %d of %+v", i, first.Message.Parts)
	}
	want := []llms.ToolCall{{ID: "call_a", Name: "add", Arguments: `{"a":1,"b":2,"note":"größer als zwölf Zeichen"}`}, {ID: "call_b", Name: "add", Arguments: `{"a":3,"b":4}`}}
	if got := first.Message.ToolCalls(); !slices.Equal(got, want) {
		t.Errorf("calls %+v", got)
	}
	if first.Stop != llms.StopToolCalls || first.Usage != (llms.Usage{InputTokens: 100, OutputTokens: 20, CacheReadTokens: 60}) {
		t.Errorf("stop %q, usage %+v", first.Stop, first.Usage)
	}

	request.Messages = append(request.Messages, first.Message, llms.Result("call_a", "add", "3", false), llms.Result("call_b", "add", "Error: 7?", true))
	second, err := llms.Complete(t.Context(), model, request)
	if err != nil {
		t.Fatal(err)
	}
	if second.Message.PlainText() != "3 and 7." || second.Stop != llms.StopEnd {
		t.Errorf("answer %+v", second)
	}
	checkSecondRequest(t, server.Exchanges()[1].Request)
	if got := server.Usage(); got != first.Usage.Add(second.Usage) {
		t.Errorf("the server counted %+v", got)
	}
}

// checkSecondRequest checks the calls and results that the server got.
func checkSecondRequest(t *testing.T, r llms.Request) {
	t.Helper()
	var calls, results []string
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls() {
			calls = append(calls, c.ID)
		}
		for _, res := range m.ToolResults() {
			results = append(results, res.CallID+"="+res.Output[0].Text)
		}
	}
	if !slices.Equal(calls, []string{"call_a", "call_b"}) || !slices.Equal(results, []string{"call_a=3", "call_b=Error: 7?"}) {
		t.Errorf("the server saw calls %q and results %q", calls, results)
	}
}

func (s *suite) request(t *testing.T) {
	model, server := s.start(t, Script(Say("ok")))
	half := 0.5
	_, err := llms.Complete(t.Context(), model, llms.Request{
		Model: "other-model", System: "Be brief.", MaxTokens: 77, Temperature: &half, Tools: []llms.ToolSpec{suiteTool},
		Schema: suiteTool.Parameters, ToolChoice: "add", Effort: "low",
		Messages: []llms.Message{llms.User("hi"), llms.Assistant("yes?"), llms.System("It is late."), llms.User("bye")},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := server.Exchanges()[0].Request
	system, rest := llms.SplitSystem(got.Messages)
	if all := got.System + "\n" + system; !strings.Contains(all, "Be brief.") || !strings.Contains(all, "It is late.") {
		t.Errorf("system %q", all)
	}
	var said []string
	for _, m := range rest {
		said = append(said, string(m.Role)+": "+m.PlainText())
	}
	if !slices.Equal(said, []string{"user: hi", "assistant: yes?", "user: bye"}) {
		t.Errorf("messages %q", said)
	}
	if got.Model != "other-model" || got.MaxTokens != 77 || got.Temperature == nil || *got.Temperature != half {
		t.Errorf("request %+v", got)
	}
	if got.ToolChoice != "add" || got.Effort != "low" || string(got.Schema) != string(suiteTool.Parameters) {
		t.Errorf("choice %q, effort %q, schema %s", got.ToolChoice, got.Effort, got.Schema)
	}
	if len(got.Tools) != 1 || got.Tools[0].Name != "add" || got.Tools[0].Description != "Adds numbers." || string(got.Tools[0].Parameters) != string(suiteTool.Parameters) {
		t.Errorf("tools %+v", got.Tools)
	}
}

func (s *suite) image(t *testing.T) {
	model, server := s.start(t, Script(Say("a dot")))
	picture := llms.Message{Role: llms.RoleUser, Parts: []llms.Part{
		{Kind: llms.PartText, Text: "what is this?"},
		{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Data: []byte("\x89PNG dot")}},
	}}
	if _, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{picture}}); err != nil {
		t.Fatal(err)
	}
	body := string(server.Exchanges()[0].Body)
	if !strings.Contains(body, "iVBORyBkb3Q") && !strings.Contains(body, "iVBORyBkb3Q=") {
		t.Errorf("the image is not in the request: %s", body)
	}
	parts := server.Exchanges()[0].Request.Messages[0].Parts
	if len(parts) != 2 || parts[1].Kind != llms.PartBlob {
		t.Errorf("the server saw %+v", parts)
	}
}

func (s *suite) brokenArguments(t *testing.T) {
	model, _ := s.start(t, Script(Call("add", `{"a": 1,`)))
	answer, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
	if calls := answer.Message.ToolCalls(); err != nil || len(calls) != 1 || calls[0].Arguments != `{"a": 1,` {
		t.Errorf("calls %+v, %v", calls, err)
	}
}

func (s *suite) noArguments(t *testing.T) {
	model, _ := s.start(t, Script(Call("now", "")))
	answer, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
	if calls := answer.Message.ToolCalls(); err != nil || len(calls) != 1 || calls[0].Arguments != "{}" {
		t.Errorf("calls %+v, %v", calls, err)
	}
}

func (s *suite) stopReasons(t *testing.T) {
	for _, stop := range []llms.StopReason{llms.StopEnd, llms.StopLength, llms.StopRefusal} {
		model, _ := s.start(t, Script(Reply{Text: "so", Stop: stop}))
		answer, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
		if err != nil || answer.Stop != stop {
			t.Errorf("stop %q instead of %q, %v", answer.Stop, stop, err)
		}
	}
}

func (s *suite) manyAtOnce(t *testing.T) {
	model, server := s.start(t, func(r llms.Request) Reply { return Say("you said " + LastUserText(r)) })
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() {
			text := fmt.Sprintf("number %d", i)
			answer, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User(text)}})
			if err != nil || answer.Message.PlainText() != "you said "+text {
				t.Errorf("call %d: %q, %v", i, answer.Message.PlainText(), err)
			}
		})
	}
	calls.Wait()
	if got := len(server.Exchanges()); got != 40 {
		t.Errorf("%d exchanges", got)
	}
}
