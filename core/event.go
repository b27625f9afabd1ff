package core

// EventKind says which fields of an Event are set.
type EventKind string

// The kinds of event.
const (
	EventText       EventKind = "text"        // Text: a piece of the answer
	EventReasoning  EventKind = "reasoning"   // Text: a piece of the model's reasoning
	EventToolCall   EventKind = "tool_call"   // Call
	EventToolResult EventKind = "tool_result" // Call (without arguments), Result
	EventApproval   EventKind = "approval"    // Call: it needs approval; the chat ends with an error
	EventUsage      EventKind = "usage"       // Usage and Stop: of one model call
	EventDone       EventKind = "done"        // Text: the whole final answer; Stop: why it ended there; Usage: of the whole stream
	EventError      EventKind = "error"       // Err; Usage: of the whole stream
)

// Event is one step of an agent's answer.
type Event struct {
	Kind EventKind // what happened; it says which of the fields below are set
	// From names the sub-agents through which the event was relayed,
	// outermost first. It is empty for the agent's own events.
	From   []string
	Text   string     // of EventText, EventReasoning and EventDone
	Call   *Call      // of EventToolCall, EventToolResult and EventApproval
	Result *Result    // of EventToolResult
	Usage  *Usage     // of EventUsage, EventDone and EventError
	Stop   StopReason // why the model ended, of EventUsage and EventDone
	Err    error      // of EventError
}

// Terminal reports whether the event ends a stream.
func (e Event) Terminal() bool { return e.Kind == EventDone || e.Kind == EventError }

// Relayed returns the event as it appears in the stream of an agent that
// handed work to the sub-agent named name.
func (e Event) Relayed(name string) Event {
	from := make([]string, 0, len(e.From)+1)
	e.From = append(append(from, name), e.From...)
	return e
}

// Call is a model's request to run a tool.
type Call struct {
	ID   string // of the call, which its result names
	Name string // of the tool
	// Arguments is the JSON text of the arguments as the model wrote it. It may be
	// invalid JSON.
	Arguments string
}

// Usage counts the tokens of model calls, as the provider counts them. InputTokens
// is the whole prompt, cached parts included.
type Usage struct {
	InputTokens      int // that the model read
	OutputTokens     int // that the model wrote
	CacheReadTokens  int // the part of InputTokens served from the provider's cache
	CacheWriteTokens int // the part of InputTokens written to it
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:      u.InputTokens + v.InputTokens,
		OutputTokens:     u.OutputTokens + v.OutputTokens,
		CacheReadTokens:  u.CacheReadTokens + v.CacheReadTokens,
		CacheWriteTokens: u.CacheWriteTokens + v.CacheWriteTokens,
	}
}

// Total is the tokens in and out together.
func (u Usage) Total() int { return u.InputTokens + u.OutputTokens }

// StopReason says why a model stopped.
type StopReason string

// The reasons. Providers' own reasons map onto these.
const (
	StopEnd       StopReason = "end"        // the answer is complete
	StopToolCalls StopReason = "tool_calls" // it waits for tool results
	StopLength    StopReason = "length"     // it ran into the limit of its answer
	StopSequence  StopReason = "stop"       // it wrote a text that ends the answer
	StopRefusal   StopReason = "refusal"    // it, or its provider, would not answer
)
