package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/lossless-context/lcm/llms"
)

// chat makes a call of Chat Completions and yields its events.
func (e *Model) chat(ctx context.Context, r llms.Request, yield func(llms.Event, error) bool) {
	params, err := e.chatParams(r)
	if err != nil {
		yield(llms.Event{}, invalid(err))
		return
	}
	stream := e.completions.NewStreaming(ctx, params)
	defer stream.Close()
	a := chatAnswer{newID: e.config.NewID}
	for stream.Next() {
		for _, event := range a.read(stream.Current()) {
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
	e.finish(ctx, stream.Err(), false, a.usage, yield)
}

func (e *Model) chatParams(r llms.Request) (openai.ChatCompletionNewParams, error) {
	messages := llms.WithoutRecords(r.Messages)
	if strings.TrimSpace(r.System) != "" {
		messages = append([]llms.Message{llms.System(r.System)}, messages...)
	}
	records, err := llms.EncodeAll(llms.FormatOpenAI, messages)
	if err != nil {
		return openai.ChatCompletionNewParams{}, fmt.Errorf("the conversation cannot be written for Chat Completions: %w", err)
	}
	p := openai.ChatCompletionNewParams{
		Model:         r.Model,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	for _, record := range records {
		p.Messages = append(p.Messages, param.Override[openai.ChatCompletionMessageParamUnion](record))
	}
	for _, t := range r.Tools {
		raw, err := json.Marshal(chatTool{"function", function{t.Name, t.Description, t.Parameters}})
		if err != nil {
			return openai.ChatCompletionNewParams{}, fmt.Errorf("tool %q: %w", t.Name, err)
		}
		p.Tools = append(p.Tools, param.Override[openai.ChatCompletionToolUnionParam](json.RawMessage(raw)))
	}
	if r.Temperature != nil {
		p.Temperature = param.NewOpt(*r.Temperature)
	}
	if len(r.Stop) > 0 {
		p.Stop = openai.ChatCompletionNewParamsStopUnion{OfStringArray: r.Stop}
	}
	if r.MaxTokens > 0 && e.config.home() {
		p.MaxCompletionTokens = param.NewOpt(int64(r.MaxTokens))
	} else if r.MaxTokens > 0 {
		p.MaxTokens = param.NewOpt(int64(r.MaxTokens)) // what other servers know
	}
	return p, nil
}

// chatTool and function keep the schema as it was written: the SDK's own type
// would sort its properties.
type chatTool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// chatAnswer is what has been gathered of a streamed completion.
type chatAnswer struct {
	newID     func() string
	id, model string
	calls     []llms.ToolCall
	indices   []int64 // of the calls, as the server numbers them
	refused   bool    // the model said so in the field for it
	stop      llms.StopReason
	usage     llms.Usage
}

// read takes the next chunk and returns what it means.
func (a *chatAnswer) read(chunk openai.ChatCompletionChunk) []llms.Event {
	a.id, a.model = chunk.ID, chunk.Model
	counted := chunk.Usage.TotalTokens > 0
	if counted {
		a.usage = llms.Usage{
			InputTokens:     int(chunk.Usage.PromptTokens),
			OutputTokens:    int(chunk.Usage.CompletionTokens),
			CacheReadTokens: int(chunk.Usage.PromptTokensDetails.CachedTokens),
		}
	}
	var events []llms.Event
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		if text := reasoning(choice.Delta); text != "" {
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

// reasoning reads the fields in which compatible servers stream reasoning.
func reasoning(d openai.ChatCompletionChunkChoiceDelta) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var text string
		if field, ok := d.JSON.ExtraFields[name]; ok && json.Unmarshal([]byte(field.Raw()), &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// grow adds a piece of a call to the one it belongs to: the last one of its
// index, unless it begins another.
func (a *chatAnswer) grow(d openai.ChatCompletionChunkChoiceDeltaToolCall) {
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
	if d.ID != "" {
		call.ID = d.ID
	}
	if d.Function.Name != "" {
		call.Name = d.Function.Name
	}
	call.Arguments += d.Function.Arguments
}

// begins reports whether d is the first piece of another call than the one
// before it of the same index: some servers number all parallel calls 0.
func begins(call llms.ToolCall, d openai.ChatCompletionChunkChoiceDeltaToolCall) bool {
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
		if call.Arguments == "" {
			call.Arguments = "{}"
		}
		events = append(events, llms.Event{Kind: llms.EventToolCall, Call: &call})
	}
	return append(events, llms.Event{Kind: llms.EventEnd, Stop: a.stop, Usage: a.usage, ID: a.id, Model: a.model})
}
