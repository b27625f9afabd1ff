package llms

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/lossless-context/lcm/core"
)

// Tool is a function that a model can call. It is the same type as [core.Tool].
type Tool = core.Tool

// Usage counts the tokens of a model call. It is the same type as [core.Usage].
type Usage = core.Usage

// Model is a language model.
//
// Stream makes the call while its result is ranged over, and yields events in
// order. A call that succeeds ends with one EventEnd. A call that fails yields an
// [*Error] as its last pair. Leaving the loop early cancels the call. Models are
// safe for concurrent use, retry temporary failures before the first event, and
// never put a key into an event or an error.
//
// A call costs from its first byte. When a provider reports the cost before the
// end, Stream yields it at once as an EventUsage, any number of times. The error
// of a failed call carries the last one. So a caller can account for a call that
// it left or that broke off. Each Usage is a total: it replaces the earlier ones
// and is not added to them.
type Model interface {
	// Name returns the provider and the model, such as
	// "anthropic/claude-sonnet-4-5".
	Name() string
	Stream(ctx context.Context, r Request) iter.Seq2[Event, error]
}

type modelKey struct{}

// WithModel returns a context for the tools of an agent that runs on m. A tool
// that needs a model itself may use that one.
func WithModel(ctx context.Context, m Model) context.Context {
	return context.WithValue(ctx, modelKey{}, m)
}

// ModelFrom returns the model of the agent whose tool runs under ctx, or nil.
func ModelFrom(ctx context.Context) Model {
	m, _ := ctx.Value(modelKey{}).(Model)
	return m
}

// Request is one call of a model.
type Request struct {
	// Model overrides the name that the Model was made with.
	Model string
	// System is the system prompt. Messages of role system are appended to it
	// where a provider takes no others.
	System   string
	Messages []Message  // the conversation, oldest first
	Tools    []ToolSpec // that the model may call
	// MaxTokens limits the answer. 0 means the default of the Model.
	MaxTokens int
	// Temperature is the provider's default when nil.
	Temperature *float64
	// Stop ends the answer at the first of these texts.
	Stop []string
	// Schema is a JSON Schema of type object that the answer shall fit. Providers hold the
	// model to it where they can; package agents checks the answer.
	Schema json.RawMessage
	// ToolChoice is the name of the tool that the model must call, or ToolRequired or ToolNone.
	// Empty leaves the choice to the model.
	ToolChoice string
	// Effort is how much a model that reasons shall think: "low", "medium", "high", or what
	// else its provider knows. Empty is the provider's default.
	Effort string
}

// The values of Request.ToolChoice that are not the name of a tool.
const (
	ToolRequired = "*required" // it must call a tool
	ToolNone     = "*none"     // it must not
)

// ToolSpec describes a tool to a model.
type ToolSpec struct {
	Name        string          // of the tool
	Description string          // what it does, for the model
	Parameters  json.RawMessage // a JSON Schema of type object
}

// Spec returns the description of t for a model: its name, its basic description
// and its parameters.
func Spec(t Tool) ToolSpec {
	return ToolSpec{Name: t.GetName(), Description: core.BasicDescription(t), Parameters: t.Parameters()}
}

// EventKind says which fields of an Event are set.
type EventKind string

// The kinds of event.
const (
	EventText      EventKind = "text"      // Text: a piece of the answer
	EventReasoning EventKind = "reasoning" // Text: a piece of the reasoning; Signature or Extra: its end
	EventToolCall  EventKind = "tool_call" // Call, complete
	EventUsage     EventKind = "usage"     // Usage: the cost so far
	EventEnd       EventKind = "end"       // Stop, Usage (of the whole call), ID, Model
)

// Event is one piece of an answer.
type Event struct {
	Kind EventKind // it says which of the fields below are set
	Text string    // a piece of text or reasoning
	// Signature ends a reasoning part that the provider signed.
	Signature string
	// Extra ends a reasoning part that has fields of the provider's own.
	Extra json.RawMessage
	Call  *ToolCall  // a whole tool call
	Stop  StopReason // why the model ended
	Usage Usage      // the cost so far
	ID    string     // the provider's id of the answer
	Model string     // the model that answered, as the provider names it
}

// StopReason says why a model stopped. It is the same type as
// [core.StopReason].
type StopReason = core.StopReason

// The reasons. Providers' own reasons map onto these.
const (
	StopEnd       = core.StopEnd       // the answer is complete
	StopToolCalls = core.StopToolCalls // it waits for tool results
	StopLength    = core.StopLength    // it ran into MaxTokens
	StopSequence  = core.StopSequence  // it wrote one of Request.Stop
	StopRefusal   = core.StopRefusal   // it, or its provider, would not answer
)

// Response is a whole answer.
type Response struct {
	Message Message    // what the model said
	Stop    StopReason // why it ended
	Usage   Usage      // the cost
	Model   string     // that answered, as the provider names it
}

// Collector builds a Response from events.
type Collector struct {
	response Response
	tail     []byte // further text of the last part; joining each piece to it would copy it all
	sealed   bool   // the last reasoning part is complete
	ended    bool
}

// Add takes the next event of a stream.
func (c *Collector) Add(e Event) {
	switch e.Kind {
	case EventText:
		if e.Text != "" { // an empty part is one that providers refuse to read back
			c.grow(PartText)
			c.tail = append(c.tail, e.Text...)
		}
	case EventReasoning:
		if e.Text == "" && e.Signature == "" && len(e.Extra) == 0 {
			return
		}
		p := c.grow(PartReasoning)
		c.tail = append(c.tail, e.Text...)
		p.Signature += e.Signature
		if len(e.Extra) > 0 {
			p.Extra = e.Extra
		}
		c.sealed = e.Signature != "" || len(e.Extra) > 0
	case EventToolCall:
		if e.Call != nil {
			c.flush()
			call := *e.Call
			c.response.Message.Parts = append(c.response.Message.Parts, Part{Kind: PartToolCall, Call: &call})
		}
	case EventUsage:
		c.response.Usage = e.Usage
	case EventEnd:
		c.ended = true
		c.response.Stop, c.response.Usage, c.response.Model = e.Stop, e.Usage, e.Model
		c.response.Message.ID = e.ID
	}
}

// Fail takes the error that ended a stream, and the cost in it.
func (c *Collector) Fail(err error) {
	if failed, ok := errors.AsType[*Error](err); ok && failed.Usage != (Usage{}) {
		c.response.Usage = failed.Usage
	}
}

// grow returns the part that a delta of the given kind belongs to.
func (c *Collector) grow(kind PartKind) *Part {
	parts := &c.response.Message.Parts
	n := len(*parts)
	if n == 0 || (*parts)[n-1].Kind != kind || kind == PartReasoning && c.sealed {
		c.flush()
		*parts = append(*parts, Part{Kind: kind})
		c.sealed = false
		n++
	}
	return &(*parts)[n-1]
}

// flush gives the last part the rest of its text.
func (c *Collector) flush() {
	if n := len(c.response.Message.Parts); n > 0 && len(c.tail) > 0 {
		c.response.Message.Parts[n-1].Text += string(c.tail)
		c.tail = c.tail[:0]
	}
}

// Ended reports whether the stream has come to its EventEnd.
func (c *Collector) Ended() bool { return c.ended }

// Response returns the answer so far.
func (c *Collector) Response() Response {
	c.flush()
	r := c.response
	r.Message.Role = RoleAssistant
	return r
}

// Complete runs a call to its end and returns the whole answer. With an error it
// returns the answer so far and the cost so far.
func Complete(ctx context.Context, m Model, r Request) (Response, error) {
	var c Collector
	for event, err := range m.Stream(ctx, r) {
		if err != nil {
			c.Fail(err)
			return c.Response(), err
		}
		c.Add(event)
	}
	if !c.Ended() {
		return c.Response(), Truncated(ctx, m.Name()).Costing(c.response.Usage)
	}
	return c.Response(), nil
}

// WithoutRecords returns the messages without the records they were read from. A
// prompt is written from the parts of messages: a record may hold fields of a
// transcript, which no provider accepts.
func WithoutRecords(ms []Message) []Message {
	out := make([]Message, len(ms))
	for i, m := range ms {
		m.Raw.Bytes = nil
		out[i] = m
	}
	return out
}
