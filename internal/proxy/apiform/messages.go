package apiform

import (
	"bytes"
	"strconv"

	"github.com/lossless-context/lcm/internal/record/wire"
)

// imageUnits is the size of an image or document whose data are inside the body. An
// image costs at most about 1,600 tokens, whatever its bytes are.
const imageUnits = 6400

// block is the part of a content block that matters, in any form.
type block struct {
	kind    string
	text    [2]int // the range of the text's literal, if any
	id      string // of a tool call
	call    string // the id that a result answers
	content int    // where nested content begins, or 0
	mark    []byte
}

// readBlock reads a block of content at b[i].
func readBlock(b []byte, i int) (v block, end int, err error) {
	end, err = eachMember(b, i, func(key string, at int) (int, error) {
		end := wire.End(b, at)
		switch key {
		case "type":
			v.kind = wire.Unquote(b[at:end])
		case "text":
			if b[at] == '"' {
				v.text = [2]int{at, end}
			}
		case "id":
			v.id = wire.Unquote(b[at:end])
		case "tool_use_id":
			v.call = wire.Unquote(b[at:end])
		case "content":
			v.content = at
		case "cache_control":
			v.mark = b[at:end]
		}
		return end, nil
	})
	return v, end, err
}

// addText adds a text that is the literal b[from:to].
func (m *Message) addText(b []byte, from, to int) {
	text := []byte(wire.Unquote(b[from:to]))
	if len(bytes.TrimSpace(text)) == 0 {
		return // opencode sends an empty text beside calls
	}
	t := Text{Key: TextKey(text), from: from, to: to}
	if m.Role == User {
		t.Reminder = bytes.HasPrefix(bytes.TrimSpace(text), []byte("<system-reminder>"))
		if n := checkpointIn(text); n > 0 {
			m.Checkpoint = n
		}
	}
	m.Texts = append(m.Texts, t)
}

// A checkpoint's mark is checkpointMark, a number and "]".
const checkpointMark = "[lcm checkpoint: everything up to msg_"

// CheckpointMark returns the mark of a checkpoint after a message.
func CheckpointMark(id int64) string { return checkpointMark + strconv.FormatInt(id, 10) + "]" }

func checkpointIn(text []byte) int64 {
	i := bytes.LastIndex(text, []byte(checkpointMark))
	if i < 0 {
		return 0
	}
	digits, _, found := bytes.Cut(text[i+len(checkpointMark):], []byte("]"))
	if !found {
		return 0
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// member is a member of a message: the range of its value, which is empty without one.
type member struct{ at, end int }

// readMembers returns the named members of the object b.
func readMembers(b []byte, names ...string) ([]member, error) {
	found := make([]member, len(names))
	_, err := eachMember(b, 0, func(key string, at int) (int, error) {
		for i, name := range names {
			if key == name {
				found[i] = member{at, wire.End(b, at)}
				return found[i].end, nil
			}
		}
		return 0, nil
	})
	return found, err
}

func (m member) str(b []byte) string { return wire.Unquote(b[m.at:m.end]) }

// anthropicMessage reads an element of "messages" of Anthropic's API.
func anthropicMessage(b []byte) (m Message, err error) {
	v, err := readMembers(b, "role", "content")
	if err != nil {
		return m, err
	}
	switch v[0].str(b) {
	case "user":
	case "assistant":
		m.Role = Assistant
	case "system":
		m.Role = System
	default:
		return m, shapeError("an unknown role")
	}
	m.Units = len(b)
	content := v[1]
	switch {
	case content.end == 0:
		return m, shapeError("a message without content")
	case b[content.at] == '"':
		m.addText(b, content.at, content.end)
		return m, nil
	}
	_, err = eachElement(b, content.at, func(i int) (int, error) {
		block, end, err := readBlock(b, i)
		if err != nil {
			return 0, err
		}
		if block.mark != nil {
			m.mark = block.mark
			m.marks++
		}
		switch block.kind {
		case "text":
			if block.text == ([2]int{}) {
				return 0, shapeError("a text block without text")
			}
			m.addText(b, block.text[0], block.text[1])
		case "tool_use":
			if block.id == "" {
				return 0, shapeError("a call without an id")
			}
			m.Calls = append(m.Calls, CallKey(block.id))
		case "tool_result":
			if block.call == "" {
				return 0, shapeError("a result without an id")
			}
			m.Results = append(m.Results, CallKey(block.call))
			err = m.nested(b, block.content)
		case "thinking", "redacted_thinking":
		default:
			m.other(block.kind, end-i)
		}
		return end, err
	})
	return m, err
}

// other counts a block of another kind.
func (m *Message) other(kind string, size int) {
	if isFile(kind) {
		m.Units -= max(0, size-imageUnits)
	} else {
		m.Opaque = true
	}
}

// isFile reports whether blocks of a kind hold an image or a document, in any form.
func isFile(kind string) bool {
	switch kind {
	case "image", "document", "image_url", "input_image", "input_file", "file":
		return true
	}
	return false
}

// nested looks for images in the content of a tool result, which begins at b[at] if at is
// not 0.
func (m *Message) nested(b []byte, at int) error {
	if at == 0 || b[at] != '[' {
		return nil
	}
	_, err := eachElement(b, at, func(i int) (int, error) {
		if b[i] != '{' {
			return 0, nil
		}
		block, end, err := readBlock(b, i)
		if isFile(block.kind) {
			m.Units -= max(0, end-i-imageUnits)
		}
		return end, err
	})
	return err
}
