package llmtest

import (
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

var responsesFace = face{
	name:    "responses",
	decode:  decodeResponses,
	frames:  responsesFrames,
	whole:   func(r wireRequest, reply Reply) any { return response(r, reply, true) },
	failure: openAIFailure,
	broken: func(f *Fault) frame {
		return frame{event: "response.failed", data: object{"type": "response.failed", "sequence_number": 0, "response": object{
			"id": "resp_failed", "object": "response", "status": "failed", "output": []any{},
			"error": object{"code": f.openAICode(), "message": f.Message},
		}}}
	},
	delta: "response.output_text.delta",
}

// response is the object that opens and closes an answer.
func response(r wireRequest, reply Reply, done bool) object {
	o := object{
		"id": "resp_" + reply.ID, "object": "response", "created_at": created, "model": r.Model,
		"status": "in_progress", "output": []any{}, "error": nil, "incomplete_details": nil, "instructions": nil,
		"metadata": object{}, "parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}, "usage": nil,
	}
	if !done {
		return o
	}
	o["status"] = "completed"
	if reply.Stop == llms.StopLength {
		o["status"], o["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	}
	if reply.Stop == llms.StopRefusal {
		o["status"], o["incomplete_details"] = "incomplete", object{"reason": "content_filter"}
	}
	var output []any
	for _, it := range responseItems(r, reply) {
		output = append(output, it.whole)
	}
	if output != nil {
		o["output"] = output
	}
	o["usage"] = object{
		"input_tokens": reply.Usage.InputTokens, "input_tokens_details": object{"cached_tokens": reply.Usage.CacheReadTokens},
		"output_tokens": reply.Usage.OutputTokens, "output_tokens_details": object{"reasoning_tokens": 0},
		"total_tokens": reply.Usage.Total(),
	}
	return o
}

// item is one output item, the state it starts in and the events between.
type item struct {
	start, whole object
	events       []frame // without output_index, which the stream adds
}

func responseItems(r wireRequest, reply Reply) []item {
	var items []item
	if reply.Reasoning != "" {
		items = append(items, reasoningItem("rs_"+reply.ID, reply.Reasoning, reply.Signature))
	}
	if reply.Text != "" {
		items = append(items, messageItem("msg_"+reply.ID, reply.Text))
	}
	for i, call := range reply.Calls {
		items = append(items, callItem(fmt.Sprintf("fc_%s_%d", reply.ID, i+1), call, r.Namespaces[call.Name]))
	}
	return items
}

func event(name string, data object) frame {
	data["type"] = name
	return frame{event: name, data: data}
}

func pieceOf(name string, data object) frame {
	fr := event(name, data)
	fr.piece = true
	return fr
}

func messageItem(id, text string) item {
	part := func(text string) object {
		return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
	}
	it := item{
		start: object{"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []any{}},
		whole: object{"type": "message", "id": id, "role": "assistant", "status": "completed", "content": []any{part(text)}},
	}
	it.events = append(it.events, event("response.content_part.added", object{"item_id": id, "content_index": 0, "part": part("")}))
	for _, piece := range pieces(text) {
		it.events = append(it.events, pieceOf("response.output_text.delta", object{"item_id": id, "content_index": 0, "delta": piece, "logprobs": []any{}}))
	}
	it.events = append(it.events,
		event("response.output_text.done", object{"item_id": id, "content_index": 0, "text": text, "logprobs": []any{}}),
		event("response.content_part.done", object{"item_id": id, "content_index": 0, "part": part(text)}))
	return it
}

func reasoningItem(id, text, signature string) item {
	part := func(text string) object { return object{"type": "summary_text", "text": text} }
	it := item{
		start: object{"type": "reasoning", "id": id, "summary": []any{}},
		whole: object{"type": "reasoning", "id": id, "summary": []any{part(text)}, "encrypted_content": signature},
	}
	it.events = append(it.events, event("response.reasoning_summary_part.added", object{"item_id": id, "summary_index": 0, "part": part("")}))
	for _, piece := range pieces(text) {
		it.events = append(it.events, pieceOf("response.reasoning_summary_text.delta", object{"item_id": id, "summary_index": 0, "delta": piece}))
	}
	it.events = append(it.events,
		event("response.reasoning_summary_text.done", object{"item_id": id, "summary_index": 0, "text": text}),
		event("response.reasoning_summary_part.done", object{"item_id": id, "summary_index": 0, "part": part(text)}))
	return it
}

func callItem(id string, call llms.ToolCall, namespace string) item {
	if namespace != "" {
		call.Name = strings.TrimPrefix(call.Name, namespace+"__")
	}
	state := func(status, arguments string) object {
		o := object{"type": "function_call", "id": id, "call_id": call.ID, "name": call.Name, "arguments": arguments, "status": status}
		if namespace != "" {
			o["namespace"] = namespace
		}
		return o
	}
	it := item{start: state("in_progress", ""), whole: state("completed", call.Arguments)}
	for _, chunk := range chunks(call.Arguments) {
		it.events = append(it.events, pieceOf("response.function_call_arguments.delta", object{"item_id": id, "delta": chunk}))
	}
	it.events = append(it.events, event("response.function_call_arguments.done",
		object{"item_id": id, "name": call.Name, "arguments": call.Arguments}))
	return it
}

func responsesFrames(r wireRequest, reply Reply) []frame {
	frames := []frame{
		event("response.created", object{"response": response(r, reply, false)}),
		event("response.in_progress", object{"response": response(r, reply, false)}),
	}
	for i, it := range responseItems(r, reply) {
		frames = append(frames, event("response.output_item.added", object{"output_index": i, "item": it.start}))
		for _, fr := range it.events {
			fr.data.(object)["output_index"] = i
			frames = append(frames, fr)
		}
		frames = append(frames, event("response.output_item.done", object{"output_index": i, "item": it.whole}))
	}
	last := "response.completed"
	if reply.Stop == llms.StopLength || reply.Stop == llms.StopRefusal {
		last = "response.incomplete"
	}
	frames = append(frames, event(last, object{"response": response(r, reply, true)}))
	for i, fr := range frames {
		fr.data.(object)["sequence_number"] = i
	}
	return frames
}
