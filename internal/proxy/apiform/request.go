package apiform

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/record/wire"
)

// Form is the form of an API's requests.
type Form int

// The forms.
const (
	None      Form = iota // not a request to a model
	Messages              // Anthropic Messages
	Responses             // OpenAI Responses
	Chat                  // OpenAI Chat Completions
	Gemini                // Gemini's generateContent and streamGenerateContent
)

// FormOf returns the form of the requests to a path.
func FormOf(path string) Form {
	path = strings.TrimSuffix(path, "/")
	switch {
	case strings.HasSuffix(path, "/messages"):
		return Messages
	case strings.HasSuffix(path, "/responses"):
		return Responses
	case strings.HasSuffix(path, "/chat/completions"):
		return Chat
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return Gemini
	}
	return None
}

// ModelOf returns the model in the path of a request: in Gemini's API the body lacks it.
func ModelOf(path string) string {
	model, _, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ":")
	if FormOf(path) != Gemini {
		return ""
	}
	return model
}

// Role says who speaks in a message of a request.
type Role byte

// The roles. Results of tools are User.
const (
	User Role = iota
	Assistant
	System
)

// Key is an anchor: a hash of a tool call's id or of a text.
type Key uint64

// CallKey is the anchor of a tool call's id.
func CallKey(id string) Key { return sum([]byte("call\x00" + id)) }

// TextKey is the anchor of a text. White space around it does not count.
func TextKey(text []byte) Key { return sum(bytes.TrimSpace(text)) }

func sum(b []byte) Key {
	h := sha256.Sum256(b)
	return Key(binary.BigEndian.Uint64(h[:]))
}

// Text is a text of a message.
type Text struct {
	Key Key
	// Reminder says that the host wrote it for the model, not the user.
	Reminder bool

	literal []byte // the string in the body
}

// String returns the text.
func (t Text) String() string { return wire.Unquote(t.literal) }

// Message is a message of a request: one element of its array or, in Responses, the
// elements of one answer of the model.
type Message struct {
	Role    Role
	Calls   []Key
	Results []Key
	Texts   []Text
	// Opaque says that it has a part of an unknown kind; it has to stay.
	Opaque bool
	// Units is its size: bytes, with a fixed cost for an image.
	Units int
	// Checkpoint is the number of the last message behind a checkpoint that it
	// carries, or 0.
	Checkpoint int64

	outputs  [][]byte // of each result, its content
	from, to int      // its range in the body
	mark     []byte   // the value of its last cache mark
	marks    int
}

// Output returns the result of a call if it is one text.
func (m *Message) Output(call Key) (Text, bool) {
	i := slices.Index(m.Results, call)
	if i < 0 || !isString(m.outputs[i]) {
		return Text{}, false
	}
	return Text{Key: call, literal: m.outputs[i]}, true
}

// Prompt reports whether the user wrote something in it.
func (m *Message) Prompt() bool {
	if m.Role != User {
		return false
	}
	for _, t := range m.Texts {
		if !t.Reminder {
			return true
		}
	}
	return false
}

// Request is a parsed request body.
type Request struct {
	Form     Form
	Body     []byte
	Model    string
	Stream   bool
	Tools    bool // the model is offered tools
	Messages []Message
	// Units is the size of the body, as [Message.Units].
	Units int

	from, to int // the range of the elements in the body
	outside  int // cache marks outside of the messages
	tools    []byte
}

// Parse reads a body. Reading 10,000 messages takes 50 ms.
func Parse(form Form, body []byte) (*Request, error) {
	if err := wire.Check(body); err != nil {
		return nil, shapeError("%v", err)
	}
	name := map[Form]string{Messages: "messages", Responses: "input", Chat: "messages", Gemini: "contents"}[form]
	v, err := fields(body, name, "model", "stream", "system", "tools")
	if err != nil {
		return nil, err
	}
	r := &Request{Form: form, Body: body, Model: wire.Unquote(v[1]), Stream: string(v[2]) == "true"}
	for _, list := range v[3:] {
		for block := range wire.Elements(list) {
			if marked, err := fields(block, "cache_control"); err == nil && marked[0] != nil {
				r.outside++
			}
		}
	}
	for range wire.Elements(v[4]) {
		r.Tools, r.tools = true, v[4]
	}
	if len(v[0]) == 0 || v[0][0] != '[' {
		return nil, shapeError("no %s", name)
	}
	at := cap(body) - cap(v[0]) // where the array begins in the body
	for i := wire.Space(body, at+1); body[i] != ']'; i = next(body, r.to) {
		if err := r.add(i, wire.End(body, i)); err != nil {
			return nil, err
		}
	}
	if len(r.Messages) == 0 {
		return nil, shapeError("no %s", name)
	}
	r.Units += len(body) - (r.to - r.from)
	return r, nil
}

// add adds the element in a range of the body. In Responses an answer of the model is several elements,
// and a reasoning element is refused without the ones after it.
func (r *Request) add(from, to int) error {
	m, err := map[Form]func([]byte) (Message, error){Messages: anthropicMessage, Responses: responsesItem, Chat: chatMessage, Gemini: geminiContent}[r.Form](r.Body[from:to])
	if err != nil {
		return err
	}
	m.from, m.to, r.to = from, to, to
	r.Units += m.Units
	n := len(r.Messages)
	switch {
	case n == 0:
		r.from = m.from
	case r.Form == Responses && m.Role == Assistant && r.Messages[n-1].Role == Assistant:
		last := &r.Messages[n-1]
		last.Texts, last.Calls, last.to = append(last.Texts, m.Texts...), append(last.Calls, m.Calls...), m.to
		last.Opaque = last.Opaque || m.Opaque
		last.Units += m.Units
		return nil
	}
	r.Messages = append(r.Messages, m)
	return nil
}

// searchTool matches the tool with which a model loads others: tool_search, ToolSearch.
var searchTool = lazyregexp.New(`(?i)"tool_?search`)

// Offers reports whether a tool is in the list of tools. Hosts that load tools when they are
// needed have one to search for them, and name them in the instructions or before the first
// answer.
func (r *Request) Offers(tool string) bool {
	if listed := bytes.Contains(r.tools, []byte(tool)); listed || !searchTool().Match(r.tools) {
		return listed
	}
	end := r.from
	for i := range r.Messages {
		if r.Messages[i].Role == Assistant {
			break
		}
		end = r.Messages[i].to
	}
	return bytes.Contains(r.Body[:end], []byte(tool)) || bytes.Contains(r.Body[r.to:], []byte(tool))
}

// Raw returns the bytes of a message.
func (r *Request) Raw(i int) []byte { return r.Body[r.Messages[i].from:r.Messages[i].to] }
