package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/anthropic"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/llms/openai"
	"github.com/lossless-context/lcm/tools"
)

// providers opens every provider, with its real SDK, on a scripted server.
var providers = []struct {
	name string
	open func(url string, client *http.Client) (llms.Model, error)
}{
	{"anthropic", func(url string, client *http.Client) (llms.Model, error) {
		return anthropic.New(anthropic.Config{Model: "m", BaseURL: url, APIKey: "key", HTTPClient: client})
	}},
	{"openai chat", func(url string, client *http.Client) (llms.Model, error) {
		return openai.New(openai.Config{Model: "m", BaseURL: url + "/v1", APIKey: "key", HTTPClient: client})
	}},
	{"openai responses", func(url string, client *http.Client) (llms.Model, error) {
		return openai.New(openai.Config{Model: "m", API: openai.Responses, BaseURL: url + "/v1", APIKey: "key", HTTPClient: client})
	}},
}

// An agent on each provider calls three tools at once, one of them wrongly,
// survives a rate limit and a server error on the way, and ends with the same
// answer and the same events.
func TestAnAgentRunsAlikeOnEveryProvider(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	want := []string{
		"reasoning: let me ask", "call: expand", "call: multiply", "call: multiply",
		"result: === TOOL: multiply ===", "result: 408", `result: Error: bad arguments for tool 'multiply': argument "b" is missing: it is required and must be a number`,
		"done: 408.",
	}
	for _, provider := range providers {
		t.Run(provider.name, func(t *testing.T) {
			server, err := llmtest.Serve(llmtest.Script(
				llmtest.Status(http.StatusTooManyRequests, "slow down"),
				llmtest.Reply{Reasoning: "let me ask"}.
					And("expand", map[string]any{"subject_type": "tool", "subject_name": "multiply"}).
					And("multiply", map[string]any{"a": 12, "b": 34}).And("multiply", map[string]any{"a": 12}),
				llmtest.Status(http.StatusInternalServerError, "oops"),
				llmtest.Say("408.")))
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			client, closeIdle := llmtest.Client()
			defer closeIdle()
			engine, err := provider.open(server.URL, client)
			if err != nil {
				t.Fatal(err)
			}
			multiply, err := multiplyTool()
			if err != nil {
				t.Fatal(err)
			}
			agent, err := agents.New(agents.AgentConfig{LLMEngine: engine, AgentName: "main", MaxParallelTools: 1,
				Tools: []llms.Tool{multiply, tools.NewExpandTool()}})
			if err != nil {
				t.Fatal(err)
			}
			stream := agent.ChatStream("12*34?").StartContext(t.Context())
			if diff := cmp.Diff(want, told(stream)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if got := stream.Wait().Usage; got == nil || *got != server.Usage() {
				t.Errorf("the agent counted %+v, the server %+v", got, server.Usage())
			}
		})
	}
}

// told is what a stream tells, one line for each event that matters.
func told(stream *core.Stream) []string {
	var lines []string
	reasoning := ""
	for e := range stream.Events() {
		if reasoning != "" && e.Kind != core.EventReasoning {
			lines, reasoning = append(lines, "reasoning: "+reasoning), ""
		}
		switch e.Kind {
		case core.EventReasoning:
			reasoning += e.Text
		case core.EventToolCall:
			lines = append(lines, "call: "+e.Call.Name)
		case core.EventToolResult:
			first, _, _ := strings.Cut(e.Result.Text, "\n")
			lines = append(lines, "result: "+first)
		case core.EventDone:
			lines = append(lines, "done: "+e.Text)
		case core.EventError:
			lines = append(lines, "error: "+e.Err.Error())
		}
	}
	return lines
}
