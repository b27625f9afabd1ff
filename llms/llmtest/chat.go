package llmtest

import (
	"encoding/json"
	"fmt"

	"github.com/lossless-context/lcm/llms"
)

var chatFace = face{
	name:    "chat",
	decode:  decodeChat,
	frames:  chatFrames,
	whole:   chatWhole,
	failure: openAIFailure,
	broken:  func(f *Fault) frame { return frame{data: openAIFailure(f)} },
}

func decodeChat(body []byte) (wireRequest, error) {
	var in struct {
		Model               string            `json:"model"`
		Messages            []json.RawMessage `json:"messages"`
		Tools               []chatTool        `json:"tools"`
		MaxTokens           int               `json:"max_tokens"`
		MaxCompletionTokens int               `json:"max_completion_tokens"`
		Temperature         *float64          `json:"temperature"`
		Stop                json.RawMessage   `json:"stop"`
		ToolChoice          json.RawMessage   `json:"tool_choice"`
		ReasoningEffort     string            `json:"reasoning_effort"`
		ResponseFormat      struct {
			JSONSchema struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
		Stream        bool `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return wireRequest{}, fmt.Errorf("the request is not JSON of Chat Completions: %w", err)
	}
	r := wireRequest{Stream: in.Stream, IncludeUsage: in.StreamOptions.IncludeUsage, Request: llms.Request{
		Model: in.Model, MaxTokens: max(in.MaxTokens, in.MaxCompletionTokens), Temperature: in.Temperature, Stop: stopTexts(in.Stop),
		ToolChoice: toolChoice(in.ToolChoice), Effort: in.ReasoningEffort, Schema: in.ResponseFormat.JSONSchema.Schema,
	}}
	var err error
	if r.Messages, err = decodeMessages(llms.FormatOpenAI, in.Messages); err != nil {
		return wireRequest{}, err
	}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, llms.ToolSpec(t.Function))
	}
	return r, nil
}

type chatTool struct {
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// stopTexts reads a string or a list of them.
func stopTexts(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(raw, &many) != nil {
		return nil
	}
	return many
}

func openAIFailure(f *Fault) any {
	return object{"error": object{"message": f.Message, "type": f.openAICode(), "code": f.openAICode(), "param": nil}}
}

func chatFinish(s llms.StopReason) string {
	switch s {
	case llms.StopToolCalls:
		return "tool_calls"
	case llms.StopLength:
		return "length"
	case llms.StopRefusal:
		return "content_filter"
	}
	return "stop"
}

func chatUsage(u llms.Usage) object {
	return object{
		"prompt_tokens": u.InputTokens, "completion_tokens": u.OutputTokens, "total_tokens": u.Total(),
		"prompt_tokens_details": object{"cached_tokens": u.CacheReadTokens},
	}
}

func chatCall(i int, call llms.ToolCall, arguments string) object {
	return object{"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": arguments}}
}

func chatFrames(r wireRequest, reply Reply) []frame {
	chunk := func(delta object, finish any) frame {
		return frame{data: object{
			"id": "chatcmpl-" + reply.ID, "object": "chat.completion.chunk", "created": created, "model": r.Model,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
		}}
	}
	piece := func(delta object) frame {
		fr := chunk(delta, nil)
		fr.piece = true
		return fr
	}
	frames := []frame{chunk(object{"role": "assistant", "content": ""}, nil)}
	for _, text := range pieces(reply.Reasoning) {
		frames = append(frames, piece(object{"reasoning_content": text}))
	}
	for _, text := range pieces(reply.Text) {
		frames = append(frames, piece(object{"content": text}))
	}
	for i, call := range reply.Calls {
		frames = append(frames, piece(object{"tool_calls": []any{chatCall(i, call, "")}}))
		for _, part := range chunks(call.Arguments) {
			frames = append(frames, piece(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": part}}}}))
		}
	}
	frames = append(frames, chunk(object{}, chatFinish(reply.Stop)))
	if r.IncludeUsage {
		last := chunk(object{}, nil)
		data := last.data.(object)
		data["choices"], data["usage"] = []any{}, chatUsage(reply.Usage)
		frames = append(frames, last)
	}
	return append(frames, frame{data: "[DONE]"})
}

func chatWhole(r wireRequest, reply Reply) any {
	message := object{"role": "assistant", "content": reply.Text, "refusal": nil}
	if reply.Reasoning != "" {
		message["reasoning_content"] = reply.Reasoning
	}
	var calls []any
	for i, call := range reply.Calls {
		calls = append(calls, chatCall(i, call, call.Arguments))
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	return object{
		"id": "chatcmpl-" + reply.ID, "object": "chat.completion", "created": created, "model": r.Model,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": chatFinish(reply.Stop), "logprobs": nil}},
		"usage":   chatUsage(reply.Usage),
	}
}
