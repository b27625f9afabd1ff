package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// respond makes a call of the Responses API and yields its events. The provider
// stores nothing: every call carries the whole conversation.
func (m *Model) respond(ctx context.Context, r llms.Request, yield func(llms.Event, error) bool) {
	body, err := responsesBody(r)
	if err != nil {
		yield(llms.Event{}, invalid(err))
		return
	}
	stream := stream[responseEvent](ctx, m, body)
	defer stream.Close()
	var a responsesAnswer
	for stream.Next() {
		event, err := m.readResponse(stream.Current().Value, &a)
		if err != nil {
			yield(llms.Event{}, err)
			return
		}
		if event.Kind != "" && !yield(event, nil) {
			return
		}
	}
	m.finish(ctx, stream.Err(), a.ended, llms.Usage{}, yield)
}

// responsesAnswer is the state of a streamed response.
type responsesAnswer struct {
	called, refused, ended bool
}

type responsesRequest struct {
	Model           string         `json:"model"`
	Instructions    string         `json:"instructions,omitempty"`
	Input           []any          `json:"input"`
	Tools           []responseTool `json:"tools,omitempty"`
	MaxOutputTokens int            `json:"max_output_tokens,omitempty"`
	Temperature     *float64       `json:"temperature,omitempty"`
	ToolChoice      any            `json:"tool_choice,omitempty"`
	Text            *textConfig    `json:"text,omitempty"`
	Reasoning       *reasoning     `json:"reasoning,omitempty"`
	Include         []string       `json:"include"`
	Store           bool           `json:"store"`
	Stream          bool           `json:"stream"`
}

type textConfig struct {
	Format answerSchema `json:"format"`
}

type reasoning struct {
	Effort string `json:"effort"`
}

func responsesBody(r llms.Request) ([]byte, error) {
	if len(r.Stop) > 0 {
		return nil, errors.New("the Responses API has no stop texts: use Chat Completions")
	}
	more, messages := llms.SplitSystem(r.Messages)
	items, err := inputItems(messages)
	if err != nil {
		return nil, err
	}
	body := responsesRequest{Model: r.Model, Instructions: strings.TrimSpace(r.System + "\n\n" + more), Input: items,
		MaxOutputTokens: max(r.MaxTokens, 0), Temperature: r.Temperature, Include: []string{"reasoning.encrypted_content"}, Stream: true}
	for _, t := range r.Tools {
		body.Tools = append(body.Tools, responseTool{"function", function{t.Name, t.Description, t.Parameters}, false})
	}
	body.ToolChoice = choice(r.ToolChoice, func(name string) any { return map[string]string{"type": "function", "name": name} })
	if r.Schema != nil {
		body.Text = &textConfig{answerSchema{Type: "json_schema", Name: "answer", Schema: r.Schema}}
	}
	if r.Effort != "" {
		body.Reasoning = &reasoning{r.Effort}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("the conversation cannot be written for the Responses API: %w", err)
	}
	return raw, nil
}

// responseTool is a tool as the Responses API wants it: flat, and explicitly
// not strict, because strict schemas know no optional arguments.
type responseTool struct {
	Type string `json:"type"`
	function
	Strict bool `json:"strict"`
}

// responseEvent is one event of a streamed response.
type responseEvent struct {
	Type     string       `json:"type"`
	Delta    string       `json:"delta"`
	Code     string       `json:"code"`
	Message  string       `json:"message"`
	Item     responseItem `json:"item"`
	Response response     `json:"response"`
}

type responseItem struct {
	Type             string `json:"type"`
	ID               string `json:"id"`
	CallID           string `json:"call_id"`
	Name             string `json:"name"`
	Arguments        string `json:"arguments"`
	EncryptedContent string `json:"encrypted_content"`
}

type response struct {
	ID    string `json:"id"`
	Model string `json:"model"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	IncompleteDetails struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage struct {
		InputTokens        int `json:"input_tokens"`
		OutputTokens       int `json:"output_tokens"`
		InputTokensDetails struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"input_tokens_details"`
	} `json:"usage"`
}

// readResponse converts the next event. Most have no meaning here.
func (m *Model) readResponse(event responseEvent, a *responsesAnswer) (llms.Event, error) {
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
		return llms.Event{}, llms.Classify(llms.Failure{Provider: provider, Code: event.Response.Error.Code,
			Message: event.Response.Error.Message, Secrets: []string{m.config.APIKey}}).Costing(responseUsage(event.Response))
	case "error":
		return llms.Event{}, llms.Classify(llms.Failure{Provider: provider, Code: event.Code,
			Message: event.Message, Secrets: []string{m.config.APIKey}})
	}
	return llms.Event{}, nil
}

func doneItem(it responseItem) (llms.Event, error) {
	switch it.Type {
	case "function_call":
		call := llms.ToolCall{ID: it.CallID, Name: it.Name, Arguments: cmp.Or(it.Arguments, "{}")}
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

func responseUsage(r response) llms.Usage {
	return llms.Usage{
		InputTokens:     r.Usage.InputTokens,
		OutputTokens:    r.Usage.OutputTokens,
		CacheReadTokens: r.Usage.InputTokensDetails.CachedTokens,
	}
}

func (a *responsesAnswer) end(r response) llms.Event {
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
