package llms

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/lossless-context/lcm/core"
)

// Role says who speaks in a message.
type Role string

// The four roles. Provider roles that do not appear here map onto one of
// them: OpenAI's "developer" is a system message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleTool      Role = "tool"
)

// Valid reports whether r is one of the four roles.
func (r Role) Valid() bool {
	switch r {
	case RoleUser, RoleAssistant, RoleSystem, RoleTool:
		return true
	}
	return false
}

// PartKind says which fields of a Part are set.
type PartKind string

// The kinds of part.
const (
	PartText       PartKind = "text"        // Text
	PartReasoning  PartKind = "reasoning"   // Text, Signature
	PartToolCall   PartKind = "tool_call"   // Call
	PartToolResult PartKind = "tool_result" // Result
	PartBlob       PartKind = "blob"        // Blob
	// PartOther is a provider's block of a type that has no kind here; Extra
	// holds the whole block.
	PartOther PartKind = "other"
)

// Part is one piece of a message. Kind says which of the other fields carry
// it. A part whose content was externalised has Ref set and its content
// fields empty.
type Part struct {
	Kind      PartKind    // it says which of the fields below are set
	Text      string      // of text and reasoning
	Signature string      // a provider's opaque proof of a reasoning part
	Call      *ToolCall   // of a tool call
	Result    *ToolResult // of a tool result
	Blob      *Blob       // an image or file
	Ref       *Ref        // to content that is stored outside the message
	// Extra holds the fields of the provider's block that have no place of
	// their own, as a JSON object, so that they survive a round trip through
	// the same shape.
	Extra json.RawMessage
}

// ToolCall is a model's request to run a tool. It is the same type as [core.Call].
type ToolCall = core.Call

// ToolResult answers a ToolCall. Output holds text and blob parts.
type ToolResult struct {
	CallID  string // of the call that it answers
	Name    string // the tool's name where the shape carries it
	Output  []Part // of the tool
	IsError bool   // the call failed
}

// Blob is an image or a file. It is the same type as [core.Blob].
type Blob = core.Blob

// Ref stands in for content that is stored outside of the conversation.
type Ref struct {
	ID     string // file_ and 16 hex digits
	Name   string // of the file
	MIME   string // its type, such as image/png
	Bytes  int64  // its size
	Tokens int    // the cost of the content if it were shown
	Note   string // the exploration summary shown in its place
}

// Message is one entry of a conversation.
type Message struct {
	// ID is the caller's own id for the message (a transcript record's uuid,
	// a provider's response id), empty when it has none.
	ID string
	// Time is when the message was said; zero when the caller does not know.
	Time  time.Time
	Role  Role   // who speaks
	Parts []Part // what is said, in order
	// Meta is metadata that encoding/json can write, kept with the message and never
	// shown to a model. Strings must be UTF-8; stored numbers come back as json.Number.
	Meta map[string]any
	// Raw is the record the message was read from. A message made in Go has
	// none.
	Raw Raw
}

// Raw is a record as it arrived, and the shape it is in.
//
// The record is stored as it is: code that changes the parts of a message must set
// Bytes to nil. Format may stay; it says whose fields the Extra of the parts are.
type Raw struct {
	Format Format // of Bytes
	Bytes  []byte // the message as it arrived
}

// Text returns a message with one text part.
func Text(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Kind: PartText, Text: text}}}
}

// User returns a user message with one text part.
func User(text string) Message { return Text(RoleUser, text) }

// Assistant returns an assistant message with one text part.
func Assistant(text string) Message { return Text(RoleAssistant, text) }

// System returns a system message with one text part.
func System(text string) Message { return Text(RoleSystem, text) }

// Calls returns an assistant message that calls tools, after text if there is
// any.
func Calls(text string, calls ...ToolCall) Message {
	m := Message{Role: RoleAssistant}
	if text != "" {
		m.Parts = append(m.Parts, Part{Kind: PartText, Text: text})
	}
	for _, c := range calls {
		m.Parts = append(m.Parts, Part{Kind: PartToolCall, Call: &c})
	}
	return m
}

// Result returns a tool message that answers the call callID with text.
func Result(callID, name, output string, isError bool) Message {
	return Message{Role: RoleTool, Parts: []Part{{Kind: PartToolResult, Result: &ToolResult{
		CallID: callID, Name: name, IsError: isError,
		Output: []Part{{Kind: PartText, Text: output}},
	}}}}
}

// PlainText returns the text parts of the message joined by blank lines, without
// reasoning, tool calls, tool results and blobs. It is empty for a message of tool
// results: see [Message.ToolResults].
func (m Message) PlainText() string {
	var said []string
	for _, p := range m.Parts {
		if p.Kind == PartText && p.Text != "" {
			said = append(said, p.Text)
		}
	}
	return strings.Join(said, "\n\n")
}

// ToolCalls returns the tool calls of the message in order.
func (m Message) ToolCalls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if p.Kind == PartToolCall && p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// ToolResults returns the tool results of the message in order.
func (m Message) ToolResults() []ToolResult {
	var results []ToolResult
	for _, p := range m.Parts {
		if p.Kind == PartToolResult && p.Result != nil {
			results = append(results, *p.Result)
		}
	}
	return results
}

// SplitSystem takes the system messages out of a conversation, for APIs that
// want their text apart. The texts are joined by blank lines.
func SplitSystem(ms []Message) (system string, rest []Message) {
	var texts []string
	for _, m := range ms {
		if m.Role != RoleSystem {
			rest = append(rest, m)
		} else if s := m.Render(); s != "" {
			texts = append(texts, s)
		}
	}
	return strings.Join(texts, "\n\n"), rest
}
