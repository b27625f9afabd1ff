package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/option"

	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// chat makes a call of Chat Completions and yields its events.
func (m *Model) chat(ctx context.Context, r llms.Request, yield func(llms.Event, error) bool) {
	body, err := m.chatBody(r)
	if err != nil {
		yield(llms.Event{}, invalid(err))
		return
	}
	stream := stream[chatChunk](ctx, m, body, option.WithMiddleware(toChatCompletions))
	defer stream.Close()
	a := chatAnswer{newID: m.config.NewID}
	for stream.Next() {
		for _, event := range a.read(stream.Current().Value) {
			if !yield(event, nil) {
				return
			}
		}
	}
	if stream.Err() == nil && a.stop != "" {
		for _, event := range a.end() {
			if !yield(event, nil) {
				return
			}
		}
		return
	}
	m.finish(ctx, stream.Err(), false, a.usage, yield)
}

// toChatCompletions sends a request for the path of the Responses API to that of
// Chat Completions.
func toChatCompletions(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	r.URL = r.URL.JoinPath("../chat/completions")
	return next(r)
}

type chatRequest struct {
	Model               string            `json:"model"`
	Messages            []json.RawMessage `json:"messages"`
	Tools               []chatTool        `json:"tools,omitempty"`
	Temperature         *float64          `json:"temperature,omitempty"`
	Stop                []string          `json:"stop,omitempty"`
	ToolChoice          any               `json:"tool_choice,omitempty"`
	ReasoningEffort     string            `json:"reasoning_effort,omitempty"`
	ResponseFormat      *responseFormat   `json:"response_format,omitempty"`
	MaxCompletionTokens int               `json:"max_completion_tokens,omitempty"`
	MaxTokens           int               `json:"max_tokens,omitempty"` // for servers that do not know the other
	Stream              bool              `json:"stream"`
	StreamOptions       streamOptions     `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

func (m *Model) chatBody(r llms.Request) ([]byte, error) {
	messages := llms.WithoutRecords(r.Messages)
	if strings.TrimSpace(r.System) != "" {
		messages = append([]llms.Message{llms.System(r.System)}, messages...)
	}
	records, err := wire.EncodeAll(llms.FormatOpenAI, messages)
	if err != nil {
		return nil, fmt.Errorf("the conversation cannot be written for Chat Completions: %w", err)
	}
	body := chatRequest{Model: r.Model, Messages: records, Temperature: r.Temperature, Stop: r.Stop,
		ToolChoice: choice(r.ToolChoice, func(name string) any { return chatTool{"function", function{Name: name}} }), ReasoningEffort: r.Effort,
		Stream: true, StreamOptions: streamOptions{IncludeUsage: true}}
	if r.Schema != nil {
		body.ResponseFormat = &responseFormat{"json_schema", answerSchema{Name: "answer", Schema: r.Schema}}
	}
	for _, t := range r.Tools {
		body.Tools = append(body.Tools, chatTool{"function", function{t.Name, t.Description, t.Parameters}})
	}
	if m.config.home() {
		body.MaxCompletionTokens = max(r.MaxTokens, 0)
	} else {
		body.MaxTokens = max(r.MaxTokens, 0)
	}
	return json.Marshal(body)
}

type chatTool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type responseFormat struct {
	Type       string       `json:"type"`
	JSONSchema answerSchema `json:"json_schema"`
}

// answerSchema is the schema of an answer. It is not strict, since strict schemas know no
// optional fields.
type answerSchema struct {
	Type   string          `json:"type,omitempty"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// choice returns a request's choice of tools as both APIs want it, but for a tool by name.
func choice(c string, named func(string) any) any {
	switch c {
	case "":
		return nil
	case llms.ToolRequired:
		return "required"
	case llms.ToolNone:
		return "none"
	}
	return named(c)
}

// chatChunk is one event of a streamed completion.
type chatChunk struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Index        int       `json:"index"`
		Delta        chatDelta `json:"delta"`
		FinishReason string    `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		PromptTokens        int `json:"prompt_tokens"`
		CompletionTokens    int `json:"completion_tokens"`
		TotalTokens         int `json:"total_tokens"`
		PromptTokensDetails struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

type chatDelta struct {
	Content   string         `json:"content"`
	Refusal   string         `json:"refusal"`
	ToolCalls []toolCallPart `json:"tool_calls"`
	// Compatible servers stream reasoning under one of these names.
	ReasoningContent string `json:"reasoning_content"`
	Reasoning        string `json:"reasoning"`
}

type toolCallPart struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// chatAnswer collects a streamed completion.
type chatAnswer struct {
	newID     func() string
	id, model string
	calls     []llms.ToolCall
	indices   []int // of the calls, as the server numbers them
	refused   bool  // the model said so in the field for it
	stop      llms.StopReason
	usage     llms.Usage
}

// read converts the next chunk.
func (a *chatAnswer) read(chunk chatChunk) []llms.Event {
	a.id, a.model = chunk.ID, chunk.Model
	counted := chunk.Usage.TotalTokens > 0
	if counted {
		a.usage = llms.Usage{
			InputTokens:     chunk.Usage.PromptTokens,
			OutputTokens:    chunk.Usage.CompletionTokens,
			CacheReadTokens: chunk.Usage.PromptTokensDetails.CachedTokens,
		}
	}
	var events []llms.Event
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		if text := cmp.Or(choice.Delta.ReasoningContent, choice.Delta.Reasoning); text != "" {
			events = append(events, llms.Event{Kind: llms.EventReasoning, Text: text})
		}
		if text := choice.Delta.Content + choice.Delta.Refusal; text != "" {
			events = append(events, llms.Event{Kind: llms.EventText, Text: text})
		}
		a.refused = a.refused || choice.Delta.Refusal != ""
		for _, call := range choice.Delta.ToolCalls {
			a.grow(call)
		}
		if choice.FinishReason != "" {
			a.stop = a.stopReason(choice.FinishReason)
		}
	}
	if counted && a.stop == "" { // most servers count at the end, some in every chunk
		events = append(events, llms.Event{Kind: llms.EventUsage, Usage: a.usage})
	}
	return events
}

// grow adds a piece of a call to the one it belongs to: the last one of its
// index, unless it begins another.
func (a *chatAnswer) grow(d toolCallPart) {
	i := len(a.indices) - 1
	for i >= 0 && a.indices[i] != d.Index {
		i--
	}
	if i < 0 || begins(a.calls[i], d) {
		i = len(a.calls)
		a.indices = append(a.indices, d.Index)
		a.calls = append(a.calls, llms.ToolCall{})
	}
	call := &a.calls[i]
	call.ID, call.Name = cmp.Or(d.ID, call.ID), cmp.Or(d.Function.Name, call.Name)
	call.Arguments += d.Function.Arguments
}

// begins reports whether d is the first piece of another call than the one
// before it of the same index: some servers number all parallel calls 0.
func begins(call llms.ToolCall, d toolCallPart) bool {
	if call.ID != "" && d.ID != "" {
		return call.ID != d.ID
	}
	return d.Function.Name != "" && d.Function.Arguments != "" && json.Valid([]byte(call.Arguments))
}

func (a *chatAnswer) stopReason(s string) llms.StopReason {
	switch s {
	case "tool_calls", "function_call":
		return llms.StopToolCalls
	case "length":
		return llms.StopLength
	case "content_filter":
		return llms.StopRefusal
	}
	if a.refused { // it finishes with "stop" like any other answer
		return llms.StopRefusal
	}
	if len(a.calls) > 0 {
		return llms.StopToolCalls // some servers say "stop" after a call
	}
	return llms.StopEnd
}

// end returns the calls, which are complete only now, and the end.
func (a *chatAnswer) end() []llms.Event {
	var events []llms.Event
	seen := map[string]bool{}
	for _, call := range a.calls {
		if call.ID == "" || seen[call.ID] {
			// Some servers give none, or the same to all. A result must name
			// its call, in this answer and beside those of other turns.
			call.ID = a.newID()
		}
		seen[call.ID] = true
		call.Arguments = cmp.Or(call.Arguments, "{}")
		events = append(events, llms.Event{Kind: llms.EventToolCall, Call: &call})
	}
	return append(events, llms.Event{Kind: llms.EventEnd, Stop: a.stop, Usage: a.usage, ID: a.id, Model: a.model})
}
