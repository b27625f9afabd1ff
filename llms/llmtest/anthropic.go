package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

var anthropicFace = face{
	name:    "anthropic",
	decode:  decodeAnthropic,
	frames:  anthropicFrames,
	whole:   anthropicWhole,
	failure: anthropicFailure,
	broken:  func(f *Fault) frame { return frame{event: "error", data: anthropicFailure(f)} },
	delta:   "content_block_delta",
}

// object is a JSON object that is put together by hand.
type object = map[string]any

func decodeAnthropic(body []byte) (wireRequest, error) {
	var in struct {
		Model         string            `json:"model"`
		System        json.RawMessage   `json:"system"`
		Messages      []json.RawMessage `json:"messages"`
		Tools         []anthropicTool   `json:"tools"`
		MaxTokens     int               `json:"max_tokens"`
		Temperature   *float64          `json:"temperature"`
		StopSequences []string          `json:"stop_sequences"`
		ToolChoice    json.RawMessage   `json:"tool_choice"`
		OutputConfig  struct {
			Effort string `json:"effort"`
			Format struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"format"`
		} `json:"output_config"`
		Stream bool `json:"stream"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return wireRequest{}, fmt.Errorf("the request is not JSON of the Messages API: %w", err)
	}
	r := wireRequest{Stream: in.Stream, Request: llms.Request{
		Model: in.Model, System: joinedText(in.System), MaxTokens: in.MaxTokens,
		Temperature: in.Temperature, Stop: in.StopSequences, ToolChoice: toolChoice(in.ToolChoice),
		Effort: in.OutputConfig.Effort, Schema: in.OutputConfig.Format.Schema,
	}}
	var err error
	if r.Messages, err = decodeMessages(llms.FormatAnthropic, in.Messages); err != nil {
		return wireRequest{}, err
	}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, llms.ToolSpec{Name: t.Name, Description: t.Description, Parameters: t.InputSchema})
	}
	return r, nil
}

// toolChoice reads the choice of tools in the form of any of the APIs.
func toolChoice(raw json.RawMessage) string {
	var word string
	var choice struct {
		Type, Name string
		Function   struct{ Name string }
	}
	if json.Unmarshal(raw, &word) != nil && json.Unmarshal(raw, &choice) == nil {
		word = cmp.Or(choice.Name, choice.Function.Name, choice.Type)
	}
	switch word {
	case "auto":
		return ""
	case "any", "required":
		return llms.ToolRequired
	case "none":
		return llms.ToolNone
	}
	return word
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

func decodeMessages(f llms.Format, records []json.RawMessage) ([]llms.Message, error) {
	var ms []llms.Message
	for i, record := range records {
		m, err := wire.Decode(f, "", record)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		ms = append(ms, m)
	}
	return ms, nil
}

// joinedText reads a string, or the texts of a list of blocks.
func joinedText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &blocks) != nil {
		return ""
	}
	texts := make([]string, len(blocks))
	for i, b := range blocks {
		texts[i] = b.Text
	}
	return strings.Join(texts, "\n\n")
}

func anthropicFailure(f *Fault) any {
	return object{"type": "error", "error": object{"type": f.anthropicCode(), "message": f.Message}}
}

func anthropicStop(s llms.StopReason) string {
	switch s {
	case llms.StopToolCalls:
		return "tool_use"
	case llms.StopLength:
		return "max_tokens"
	case llms.StopSequence:
		return "stop_sequence"
	case llms.StopRefusal:
		return "refusal"
	}
	return "end_turn"
}

// anthropicInput is how the API counts: cached tokens are not input tokens.
func anthropicInput(u llms.Usage) object {
	return object{
		"input_tokens":                u.InputTokens - u.CacheReadTokens - u.CacheWriteTokens,
		"cache_creation_input_tokens": u.CacheWriteTokens,
		"cache_read_input_tokens":     u.CacheReadTokens,
		"output_tokens":               0, // the count of the answer comes at its end
	}
}

func anthropicMessage(r wireRequest, reply Reply) object {
	return object{
		"id": "msg_" + reply.ID, "type": "message", "role": "assistant", "model": r.Model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": anthropicInput(reply.Usage),
	}
}

// block is one content block and the deltas that fill it.
type block struct {
	start  object
	deltas []object
	whole  object
}

func anthropicBlocks(reply Reply) []block {
	var blocks []block
	if reply.Reasoning != "" {
		b := block{
			start: object{"type": "thinking", "thinking": "", "signature": ""},
			whole: object{"type": "thinking", "thinking": reply.Reasoning, "signature": reply.Signature},
		}
		for _, piece := range pieces(reply.Reasoning) {
			b.deltas = append(b.deltas, object{"type": "thinking_delta", "thinking": piece})
		}
		b.deltas = append(b.deltas, object{"type": "signature_delta", "signature": reply.Signature})
		blocks = append(blocks, b)
	}
	if reply.Text != "" {
		b := block{start: object{"type": "text", "text": ""}, whole: object{"type": "text", "text": reply.Text}}
		for _, piece := range pieces(reply.Text) {
			b.deltas = append(b.deltas, object{"type": "text_delta", "text": piece})
		}
		blocks = append(blocks, b)
	}
	for _, call := range reply.Calls {
		input := json.RawMessage(call.Arguments)
		if !json.Valid(input) {
			input = marshal(object{"raw_arguments": call.Arguments})
		}
		b := block{
			start: object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": object{}},
			whole: object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": input},
		}
		for _, chunk := range chunks(call.Arguments) {
			b.deltas = append(b.deltas, object{"type": "input_json_delta", "partial_json": chunk})
		}
		blocks = append(blocks, b)
	}
	return blocks
}

func anthropicFrames(r wireRequest, reply Reply) []frame {
	named := func(event string, data object) frame {
		data["type"] = event
		return frame{event: event, data: data}
	}
	frames := []frame{
		named("message_start", object{"message": anthropicMessage(r, reply)}),
		named("ping", object{}),
	}
	for i, b := range anthropicBlocks(reply) {
		frames = append(frames, named("content_block_start", object{"index": i, "content_block": b.start}))
		for _, delta := range b.deltas {
			fr := named("content_block_delta", object{"index": i, "delta": delta})
			fr.piece = true
			frames = append(frames, fr)
		}
		frames = append(frames, named("content_block_stop", object{"index": i}))
	}
	return append(frames,
		named("message_delta", object{
			"delta": object{"stop_reason": anthropicStop(reply.Stop), "stop_sequence": nil},
			"usage": object{"output_tokens": reply.Usage.OutputTokens},
		}),
		named("message_stop", object{}))
}

func anthropicWhole(r wireRequest, reply Reply) any {
	message := anthropicMessage(r, reply)
	content := []any{}
	for _, b := range anthropicBlocks(reply) {
		content = append(content, b.whole)
	}
	message["content"], message["stop_reason"] = content, anthropicStop(reply.Stop)
	usage := anthropicInput(reply.Usage)
	usage["output_tokens"] = reply.Usage.OutputTokens
	message["usage"] = usage
	return message
}
