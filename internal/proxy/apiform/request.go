package apiform

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/wire"
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
	Pi                    // messages of pi and of OpenClaw, which no API takes
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

// CallKey is the anchor of a tool call's id. Only its letters and digits count: OpenClaw sends
// call_1 as call1.
func CallKey(id string) Key {
	key := make([]byte, 0, 64)
	key = append(key, "call\x00"...)
	for i := range len(id) {
		if c := id[i]; c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 {
			key = append(key, c)
		}
	}
	return sum(key)
}

// TextKey is the anchor of a text. White space around it does not count.
func TextKey(text []byte) Key { return sum(bytes.TrimSpace(text)) }

func sum(b []byte) Key {
	h := sha256.Sum256(b)
	return Key(binary.BigEndian.Uint64(h[:]))
}

// Text is a text of a message.
type Text struct {
	Key Key
	// Whole is the anchor of the text with the white space around it.
	Whole Key
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
	items    []Message // the elements; in Responses several of them may be a message
}

// Parse reads a body.
func Parse(form Form, body []byte) (*Request, error) { return ParseAfter(nil, form, body) }

// ParseAfter reads a body. before is an earlier request of the same session, or nil: the messages
// with which both begin are not read again.
func ParseAfter(before *Request, form Form, body []byte) (*Request, error) {
	r := &Request{Form: form, Body: body}
	read, cut := body, 0 // what is read: the body without cut bytes at the beginning of the array
	if known := before.beginning(form, body); len(known) > 1 {
		// The last one is read again, so that what is read is JSON if, and only if, the body is.
		r.items, cut = slices.Clip(known[:len(known)-1]), known[len(known)-1].from-before.from
		read = slices.Concat(body[:before.from], body[before.from+cut:])
	}
	if err := wire.Check(read); err != nil {
		return nil, shapeError("%v", err)
	}
	name := map[Form]string{Messages: "messages", Responses: "input", Chat: "messages", Gemini: "contents", Pi: "messages"}[form]
	v, err := fields(read, name, "model", "stream", "system", "tools")
	if err != nil {
		return nil, err
	}
	r.Model, r.Stream = wire.Unquote(v[1]), string(v[2]) == "true"
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
	if err := r.add(read, cap(read)-cap(v[0]), cut); err != nil {
		return nil, err
	}
	if len(r.items) == 0 {
		return nil, shapeError("no %s", name)
	}
	r.group()
	return r, nil
}

// beginning returns the elements with which the request and a body begin.
func (r *Request) beginning(form Form, body []byte) []Message {
	if r == nil || r.Form != form {
		return nil
	}
	same := 0
	for same+sameStep <= min(len(r.Body), len(body)) && bytes.Equal(r.Body[same:same+sameStep], body[same:same+sameStep]) {
		same += sameStep
	}
	n, _ := slices.BinarySearchFunc(r.items, same, func(m Message, end int) int { return cmp.Compare(m.to, end) })
	return r.items[:n]
}

// sameStep is how many bytes of two bodies are compared at a time. The elements of the last
// step that both have may be read again.
const sameStep = 4096

// add adds the elements of the array at b[at], which is the body without cut bytes. Each has a
// copy of its bytes, since it outlives the body.
func (r *Request) add(b []byte, at, cut int) error {
	read := map[Form]func([]byte) (Message, error){Messages: anthropicMessage, Responses: responsesItem, Chat: chatMessage, Gemini: geminiContent, Pi: piMessage}[r.Form]
	for i := wire.Space(b, at+1); b[i] != ']'; {
		end := wire.End(b, i)
		m, err := read(bytes.Clone(b[i:end]))
		if err != nil {
			return err
		}
		m.from, m.to = i+cut, end+cut
		r.items = append(r.items, m)
		i = next(b, end)
	}
	return nil
}

// group makes the messages of the elements. In Responses an answer of the model is several
// elements, and a reasoning element is refused without the ones after it.
func (r *Request) group() {
	r.from, r.to = r.items[0].from, r.items[len(r.items)-1].to
	r.Units = len(r.Body) - (r.to - r.from)
	for i := range r.items {
		r.Units += r.items[i].Units
	}
	if r.Messages = r.items; r.Form != Responses {
		return
	}
	r.Messages = make([]Message, 0, len(r.items))
	for _, m := range r.items {
		if n := len(r.Messages); n == 0 || m.Role != Assistant || r.Messages[n-1].Role != Assistant {
			r.Messages = append(r.Messages, m)
			continue
		}
		last := &r.Messages[len(r.Messages)-1]
		last.Texts, last.Calls, last.to = slices.Concat(last.Texts, m.Texts), slices.Concat(last.Calls, m.Calls), m.to
		last.Opaque = last.Opaque || m.Opaque
		last.Units += m.Units
	}
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
