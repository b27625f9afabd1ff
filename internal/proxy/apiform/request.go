package apiform

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"strings"

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
	}
	return None
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
	// from and to are the range of the string literal in the message.
	from, to int
}

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

	from, to int    // its range in the body
	mark     []byte // the value of its last cache mark
	marks    int
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
	items    []Message
}

// Parse reads a body. before is the last request of the same session, or nil: the messages
// with which both begin are not read again. Reading 10,000 takes 26 ms.
func Parse(form Form, body []byte, before *Request) (*Request, error) {
	if err := wire.Check(body); err != nil {
		return nil, shapeError("%v", err)
	}
	r := &Request{Form: form, Body: body, from: -1}
	var known []Message
	if before != nil && before.Form == form {
		same := commonPrefix(before.Body, body)
		known = before.items
		for len(known) > 0 && known[len(known)-1].to >= same {
			known = known[:len(known)-1]
		}
	}
	name := "messages"
	if form == Responses {
		name = "input"
	}
	_, err := eachMember(body, wire.Space(body, 0), func(key string, at int) (int, error) {
		switch key {
		case name:
			return r.readMessages(at, known)
		case "model":
			r.Model = wire.Unquote(body[at:wire.End(body, at)])
		case "stream":
			r.Stream = bytes.HasPrefix(body[at:], []byte("true"))
		case "system":
			return r.marksIn(at)
		case "tools":
			r.Tools = body[at] == '[' && body[wire.Space(body, at+1)] != ']'
			return r.marksIn(at)
		}
		return 0, nil
	})
	if err != nil {
		return nil, err
	}
	if r.from < 0 || len(r.items) == 0 {
		return nil, shapeError("no %s", name)
	}
	r.group()
	r.Units += len(body) - (r.to - r.from)
	return r, nil
}

// commonPrefix returns how many bytes two texts have in common, or somewhat less.
func commonPrefix(a, b []byte) int {
	const step = 4096
	for i := 0; ; i += step {
		if i+step > min(len(a), len(b)) || !bytes.Equal(a[i:i+step], b[i:i+step]) {
			return i
		}
	}
}

// readMessages reads the array of messages, which begins with those that are known.
func (r *Request) readMessages(at int, known []Message) (int, error) {
	read := map[Form]func([]byte) (Message, error){Messages: anthropicMessage, Responses: responsesItem, Chat: chatMessage}[r.Form]
	return eachElement(r.Body, at, func(i int) (int, error) {
		if len(r.items) == 0 {
			r.from = i
		}
		if n := len(r.items); n < len(known) {
			r.items, r.to = append(r.items, known[n]), known[n].to
			return r.to, nil
		}
		r.to = wire.End(r.Body, i)
		m, err := read(r.Body[i:r.to])
		m.from, m.to = i, r.to
		m.mark = bytes.Clone(m.mark) // it outlives the body
		r.items = append(r.items, m)
		return r.to, err
	})
}

// marksIn counts the cache marks of the blocks of an array.
func (r *Request) marksIn(at int) (int, error) {
	if r.Body[at] != '[' {
		return 0, nil
	}
	return eachElement(r.Body, at, func(i int) (int, error) {
		if r.Body[i] != '{' {
			return 0, nil
		}
		return eachMember(r.Body, i, func(key string, _ int) (int, error) {
			if key == "cache_control" {
				r.outside++
			}
			return 0, nil
		})
	})
}

// group makes the messages of the elements. In Responses an answer of the model is
// several elements, and a reasoning element is refused without the ones after it.
func (r *Request) group() {
	for _, m := range r.items {
		r.Units += m.Units
	}
	if r.Form != Responses {
		r.Messages = r.items
		return
	}
	r.Messages = make([]Message, 0, len(r.items))
	for i, m := range r.items {
		if i > 0 && m.Role == Assistant && r.items[i-1].Role == Assistant {
			last := &r.Messages[len(r.Messages)-1]
			for _, t := range m.Texts {
				t.from, t.to = t.from+m.from-last.from, t.to+m.from-last.from
				last.Texts = append(last.Texts[:len(last.Texts):len(last.Texts)], t)
			}
			last.Calls = append(last.Calls[:len(last.Calls):len(last.Calls)], m.Calls...)
			last.Results = append(last.Results[:len(last.Results):len(last.Results)], m.Results...)
			last.Opaque = last.Opaque || m.Opaque
			last.Units += m.Units
			last.to = m.to
			continue
		}
		r.Messages = append(r.Messages, m)
	}
}

// Offers reports whether a tool is named in the list of tools, in the instructions, or
// before the first answer: hosts that load tools when they are needed name them there.
func (r *Request) Offers(tool string) bool {
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

// TextOf returns a text of a message.
func (r *Request) TextOf(i int, t Text) string {
	return wire.Unquote(r.Raw(i)[t.from:t.to])
}

// Output returns the result of a call in message i if it is one text.
func (r *Request) Output(i int, call Key) (t Text, ok bool) {
	b := r.Raw(i)
	plain := func(at int) bool {
		t, ok = Text{Key: call, from: at, to: wire.End(b, at)}, b[at] == '"'
		return ok
	}
	name := "content"
	if r.Form == Responses {
		name = "output"
	}
	v, err := readMembers(b, name)
	switch {
	case err != nil || v[0].end == 0:
		return t, false
	case r.Form != Messages:
		return t, plain(v[0].at)
	}
	_, err = eachElement(b, v[0].at, func(at int) (int, error) {
		block, end, err := readBlock(b, at)
		if err == nil && block.kind == "tool_result" && CallKey(block.call) == call && block.content > 0 {
			plain(block.content)
		}
		return end, err
	})
	return t, ok && err == nil
}
