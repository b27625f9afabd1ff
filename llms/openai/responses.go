package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/lossless-context/lcm/llms"
)

// respond makes a call of the Responses API and yields its events. Nothing
// is stored at the provider: every call carries the whole conversation.
func (e *Model) respond(ctx context.Context, r llms.Request, yield func(llms.Event, error) bool) {
	params, err := responsesParams(r)
	if err != nil {
		yield(llms.Event{}, invalid(err))
		return
	}
	stream := e.answers.NewStreaming(ctx, params)
	defer stream.Close()
	var a responsesAnswer
	for stream.Next() {
		event, err := e.readResponse(stream.Current(), &a)
		if err != nil {
			yield(llms.Event{}, err)
			return
		}
		if event.Kind != "" && !yield(event, nil) {
			return
		}
	}
	e.finish(ctx, stream.Err(), a.ended, llms.Usage{}, yield)
}

// responsesAnswer is what has been seen of a streamed response.
type responsesAnswer struct {
	called, refused, ended bool
}

func responsesParams(r llms.Request) (responses.ResponseNewParams, error) {
	if len(r.Stop) > 0 {
		return responses.ResponseNewParams{}, errors.New("the Responses API has no stop texts: use Chat Completions")
	}
	more, messages := llms.SplitSystem(r.Messages)
	p := responses.ResponseNewParams{
		Model:   r.Model,
		Store:   param.NewOpt(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
	}
	if system := strings.TrimSpace(r.System + "\n\n" + more); system != "" {
		p.Instructions = param.NewOpt(system)
	}
	if r.MaxTokens > 0 {
		p.MaxOutputTokens = param.NewOpt(int64(r.MaxTokens))
	}
	if r.Temperature != nil {
		p.Temperature = param.NewOpt(*r.Temperature)
	}
	items, err := inputItems(messages)
	if err != nil {
		return p, err
	}
	for _, it := range items {
		raw, err := json.Marshal(it)
		if err != nil {
			return p, fmt.Errorf("the conversation cannot be written for the Responses API: %w", err)
		}
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(raw)))
	}
	for _, t := range r.Tools {
		raw, err := json.Marshal(responseTool{"function", function{t.Name, t.Description, t.Parameters}, false})
		if err != nil {
			return p, fmt.Errorf("tool %q: %w", t.Name, err)
		}
		p.Tools = append(p.Tools, param.Override[responses.ToolUnionParam](json.RawMessage(raw)))
	}
	return p, nil
}

// responseTool is a tool as the Responses API wants it: flat, and explicitly
// not strict, because strict schemas know no optional arguments.
type responseTool struct {
	Type string `json:"type"`
	function
	Strict bool `json:"strict"`
}

// readResponse returns what the next event means; most mean nothing here.
func (e *Model) readResponse(event responses.ResponseStreamEventUnion, a *responsesAnswer) (llms.Event, error) {
	switch event.Type {
	case "response.output_text.delta":
		return llms.Event{Kind: llms.EventText, Text: event.Delta}, nil
	case "response.refusal.delta":
		a.refused = true
		return llms.Event{Kind: llms.EventText, Text: event.Delta}, nil
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return llms.Event{Kind: llms.EventReasoning, Text: event.Delta}, nil
	case "response.output_item.done":
		a.called = a.called || event.Item.Type == "function_call"
		return doneItem(event.Item)
	case "response.completed", "response.incomplete":
		a.ended = true
		return a.end(event.Response), nil
	case "response.failed":
		return llms.Event{}, llms.Classify(llms.Failure{Provider: provider, Code: string(event.Response.Error.Code),
			Message: event.Response.Error.Message, Secrets: []string{e.config.APIKey}}).Costing(responseUsage(event.Response))
	case "error":
		return llms.Event{}, llms.Classify(llms.Failure{Provider: provider, Code: event.Code,
			Message: event.Message, Secrets: []string{e.config.APIKey}})
	}
	return llms.Event{}, nil
}

func doneItem(it responses.ResponseOutputItemUnion) (llms.Event, error) {
	switch it.Type {
	case "function_call":
		call := llms.ToolCall{ID: it.CallID, Name: it.Name, Arguments: it.Arguments.OfString}
		if call.Arguments == "" {
			call.Arguments = "{}"
		}
		return llms.Event{Kind: llms.EventToolCall, Call: &call}, nil
	case "reasoning":
		extra, err := json.Marshal(reasoningMark{Type: "reasoning", ID: it.ID})
		if err != nil {
			return llms.Event{}, invalid(err)
		}
		return llms.Event{Kind: llms.EventReasoning, Signature: it.EncryptedContent, Extra: extra}, nil
	}
	return llms.Event{}, nil
}

func responseUsage(r responses.Response) llms.Usage {
	return llms.Usage{
		InputTokens:     int(r.Usage.InputTokens),
		OutputTokens:    int(r.Usage.OutputTokens),
		CacheReadTokens: int(r.Usage.InputTokensDetails.CachedTokens),
	}
}

func (a *responsesAnswer) end(r responses.Response) llms.Event {
	end := llms.Event{Kind: llms.EventEnd, Stop: llms.StopEnd, ID: r.ID, Model: r.Model, Usage: responseUsage(r)}
	switch {
	case r.IncompleteDetails.Reason == "max_output_tokens":
		end.Stop = llms.StopLength
	case a.refused, r.IncompleteDetails.Reason == "content_filter":
		end.Stop = llms.StopRefusal
	case a.called:
		end.Stop = llms.StopToolCalls
	}
	return end
}
