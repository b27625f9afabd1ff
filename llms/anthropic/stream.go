package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// streamEvent is one event of a streamed message.
type streamEvent struct {
	Type    string `json:"type"`
	Message struct {
		ID    string `json:"id"`
		Model string `json:"model"`
		Usage usage  `json:"usage"`
	} `json:"message"`
	ContentBlock contentBlock `json:"content_block"`
	Delta        delta        `json:"delta"`
	Usage        usage        `json:"usage"`
}

type usage struct {
	InputTokens              int `json:"input_tokens"`
	OutputTokens             int `json:"output_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
}

type contentBlock struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	Data  string          `json:"data"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type delta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	PartialJSON string `json:"partial_json"`
	StopReason  string `json:"stop_reason"`
}

// answer collects a streamed message.
type answer struct {
	id, model string
	usage     llms.Usage
	stop      llms.StopReason
	call      *llms.ToolCall  // the tool call whose arguments are coming
	input     json.RawMessage // arguments that came with the start of the call
	ended     bool
}

// run makes the call and yields its events.
func (m *Model) run(ctx context.Context, body []byte, yield func(llms.Event, error) bool) {
	var response *http.Response
	err := m.client.Post(ctx, "v1/messages", body, &response)
	stream := ssestream.NewStream[wire.Lenient[streamEvent]](ssestream.NewDecoder(response), err)
	defer stream.Close()
	var a answer
	for stream.Next() {
		for _, event := range a.read(stream.Current().Value) {
			if !yield(event, nil) {
				return
			}
		}
	}
	switch err := stream.Err(); {
	case ctx.Err() != nil && !a.ended:
		yield(llms.Event{}, llms.Canceled(ctx, provider).Costing(a.usage))
	case err != nil && !a.ended:
		yield(llms.Event{}, m.failure(err).Costing(a.usage))
	case !a.ended:
		yield(llms.Event{}, llms.Truncated(ctx, provider).Costing(a.usage))
	}
}

// read converts the next event of the stream.
func (a *answer) read(e streamEvent) []llms.Event {
	switch e.Type {
	case "message_start":
		a.id, a.model = e.Message.ID, e.Message.Model
		a.count(e.Message.Usage)
		a.usage.OutputTokens = e.Message.Usage.OutputTokens
		if a.usage != (llms.Usage{}) {
			return []llms.Event{{Kind: llms.EventUsage, Usage: a.usage}}
		}
	case "content_block_start":
		return a.open(e.ContentBlock)
	case "content_block_delta":
		return a.delta(e.Delta)
	case "content_block_stop":
		return a.close()
	case "message_delta":
		a.stop = stopReason(e.Delta.StopReason)
		a.usage.OutputTokens = e.Usage.OutputTokens
		if e.Usage.InputTokens > 0 { // some servers know the input only now
			a.count(e.Usage)
		}
	case "message_stop":
		a.ended = true
		return []llms.Event{{Kind: llms.EventEnd, Stop: a.stop, Usage: a.usage, ID: a.id, Model: a.model}}
	}
	return nil
}

// count sets the input. The API counts cached tokens apart from the others.
func (a *answer) count(u usage) {
	a.usage.InputTokens = u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
	a.usage.CacheReadTokens, a.usage.CacheWriteTokens = u.CacheReadInputTokens, u.CacheCreationInputTokens
}

func (a *answer) open(b contentBlock) []llms.Event {
	switch b.Type {
	case "text":
		if b.Text != "" {
			return []llms.Event{{Kind: llms.EventText, Text: b.Text}}
		}
	case "redacted_thinking":
		return []llms.Event{{Kind: llms.EventReasoning, Signature: b.Data, Extra: json.RawMessage(`{"type":"redacted_thinking"}`)}}
	case "tool_use":
		a.call = &llms.ToolCall{ID: b.ID, Name: b.Name}
		a.input = b.Input
	}
	return nil
}

func (a *answer) delta(d delta) []llms.Event {
	switch d.Type {
	case "text_delta":
		return []llms.Event{{Kind: llms.EventText, Text: d.Text}}
	case "thinking_delta":
		return []llms.Event{{Kind: llms.EventReasoning, Text: d.Thinking}}
	case "signature_delta":
		return []llms.Event{{Kind: llms.EventReasoning, Signature: d.Signature}}
	case "input_json_delta":
		if a.call != nil {
			a.call.Arguments += d.PartialJSON
		}
	}
	return nil
}

func (a *answer) close() []llms.Event {
	call := a.call
	if call == nil {
		return nil
	}
	a.call = nil
	call.Arguments = cmp.Or(call.Arguments, string(a.input), "{}")
	return []llms.Event{{Kind: llms.EventToolCall, Call: call}}
}

func stopReason(s string) llms.StopReason {
	switch s {
	case "tool_use":
		return llms.StopToolCalls
	case "max_tokens", "model_context_window_exceeded":
		return llms.StopLength
	case "stop_sequence":
		return llms.StopSequence
	case "refusal":
		return llms.StopRefusal
	}
	return llms.StopEnd
}

// failure translates an error of the SDK. Nothing of it is kept but words:
// it holds the request, and with it the key.
func (m *Model) failure(err error) *llms.Error {
	f := llms.Failure{Provider: provider, Message: err.Error(), Secrets: []string{m.config.APIKey}}
	if answered, ok := errors.AsType[*anthropic.Error](err); ok {
		f.Status, f.Code, f.Message = answered.StatusCode, string(answered.Type()), errorMessage(answered.RawJSON())
		if answered.Response != nil {
			f.Header = answered.Response.Header
		}
		if f.Status == http.StatusOK {
			f.Status = 0 // the error came in the middle of a stream that had begun well
		}
	}
	return llms.Classify(f)
}

// errorMessage takes the message out of an error body, or the body itself
// where it has another form.
func errorMessage(body string) string {
	var envelope struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(body), &envelope) == nil && envelope.Error.Message != "" {
		return envelope.Error.Message
	}
	const most = 500
	if len(body) > most {
		return body[:most] + "…"
	}
	return body
}
