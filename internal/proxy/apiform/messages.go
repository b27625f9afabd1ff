package apiform

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/internal/wire"
)

// imageUnits is the size of an image or document whose data are inside the body. An
// image costs at most about 1,600 tokens, whatever its bytes are.
const imageUnits = 6400

// errShape says that a body is not of the form that its path promises.
var errShape = errors.New("the request has an unknown shape")

func shapeError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errShape, fmt.Sprintf(format, args...))
}

// fields returns the values of the named members of an object, which was checked, and nil for
// those that it lacks. A key with an escape or a second member of the same name is an error:
// programs read such an object in different ways.
func fields(b []byte, names ...string) ([][]byte, error) {
	b = b[wire.Space(b, 0):]
	if b[0] != '{' {
		return nil, shapeError("expected an object")
	}
	found := make([][]byte, len(names))
	var room [16]string
	seen := room[:0]
	for i := wire.Space(b, 1); b[i] != '}'; {
		end := wire.End(b, i)
		key := string(b[i+1 : end-1])
		if strings.Contains(key, `\`) || slices.Contains(seen, key) {
			return nil, shapeError("an escaped key, or two members called %.40q", key)
		}
		seen = append(seen, key)
		at := wire.Space(b, wire.Space(b, end)+1) // after the colon
		end = wire.End(b, at)
		if n := slices.Index(names, key); n >= 0 {
			found[n] = b[at:end]
		}
		i = next(b, end)
	}
	return found, nil
}

// next returns the index of the member or element after a value that ends at b[end], or of
// the closing bracket.
func next(b []byte, end int) int {
	if end = wire.Space(b, end); b[end] == ',' {
		end = wire.Space(b, end+1)
	}
	return end
}

func isString(b []byte) bool { return len(b) > 0 && b[0] == '"' }

// reminders are the tags of texts that hosts write for the model.
var reminders = []string{"<system-reminder>", "<session_context>", "<hook_context>"}

// addText adds a text, which is a string of the body.
func (m *Message) addText(literal []byte) {
	text := []byte(wire.Unquote(literal))
	if len(bytes.TrimSpace(text)) == 0 {
		return // opencode sends an empty text beside calls
	}
	t := Text{Key: TextKey(text), literal: literal}
	if t.Whole = t.Key; len(bytes.TrimSpace(text)) < len(text) {
		t.Whole = sum(text)
	}
	if m.Role == User {
		t.Reminder = slices.ContainsFunc(reminders, func(tag string) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte(tag)) })
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

// setRole sets the role of a message.
func (m *Message) setRole(name []byte) error {
	switch wire.Unquote(name) {
	case "user":
		m.Role = User
	case "assistant", "model":
		m.Role = Assistant
	case "system", "developer":
		m.Role = System
	default:
		return shapeError("an unknown role")
	}
	return nil
}

// anthropicMessage reads an element of "messages" of Anthropic's API.
func anthropicMessage(b []byte) (m Message, err error) {
	v, err := fields(b, "role", "content")
	if err != nil {
		return m, err
	}
	if v[1] == nil {
		return m, shapeError("a message without content")
	}
	m.Units = len(b)
	return m, cmp.Or(m.setRole(v[0]), m.content(v[1]))
}

// chatMessage reads an element of "messages" of Chat Completions.
func chatMessage(b []byte) (m Message, err error) {
	v, err := fields(b, "role", "content", "tool_calls", "tool_call_id")
	if err != nil {
		return m, err
	}
	m.Units = len(b)
	if wire.Unquote(v[0]) == "tool" {
		return m, m.addResult(v[3], v[1])
	}
	if err = cmp.Or(m.setRole(v[0]), m.content(v[1])); err != nil {
		return m, err
	}
	for call := range wire.Elements(v[2]) {
		id, err := fields(call, "id")
		if err == nil {
			err = m.addCall(id[0])
		}
		if err != nil {
			return m, err
		}
	}
	return m, nil
}

// piMessage reads a message of pi. Those with a role of pi's own stay, except for a summary,
// which it says as the user.
func piMessage(b []byte) (m Message, err error) {
	v, err := fields(b, "role", "content", "toolCallId", "summary")
	if err != nil {
		return m, err
	}
	m.Units = len(b)
	switch wire.Unquote(v[0]) {
	case "toolResult":
		return m, m.addResult(v[2], v[1])
	case "compactionSummary", "branchSummary":
		return m, m.content(v[3])
	case "user", "assistant":
		return m, cmp.Or(m.setRole(v[0]), m.content(v[1]))
	}
	m.Opaque = true
	return m, nil
}

// responsesItem reads an element of "input" of Responses.
func responsesItem(b []byte) (m Message, err error) {
	v, err := fields(b, "type", "role", "content", "call_id", "output", "id")
	if err != nil {
		return m, err
	}
	m.Units = len(b)
	switch wire.Unquote(v[0]) {
	case "message", "":
		return m, cmp.Or(m.setRole(v[1]), m.content(v[2]))
	case "reasoning":
		m.Role = Assistant
	case "function_call", "custom_tool_call", "local_shell_call":
		m.Role = Assistant
		if v[3] == nil {
			v[3] = v[5]
		}
		err = m.addCall(v[3])
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		err = m.addResult(v[3], v[4])
	case "web_search_call", "image_generation_call", "tool_search_call", "tool_search_output":
		m.Role, m.Opaque = Assistant, true
	default:
		m.Opaque = true
	}
	return m, err
}

// geminiContent reads an element of "contents" of Gemini's API. Gemini CLI sends a result twice
// after a session was resumed.
func geminiContent(b []byte) (m Message, err error) {
	v, err := fields(b, "role", "parts")
	if err != nil {
		return m, err
	}
	m.Units = len(b)
	err = m.setRole(v[0])
	for part := range wire.Elements(v[1]) {
		err = cmp.Or(err, m.geminiPart(part))
	}
	return m, err
}

func (m *Message) geminiPart(part []byte) error {
	v, err := fields(part, "text", "thought", "functionCall", "functionResponse", "inlineData", "fileData")
	if err != nil {
		return err
	}
	switch {
	case v[2] != nil:
		of, err := fields(v[2], "id", "name")
		if err != nil {
			return err
		}
		return m.addCall(quote(wire.GeminiCallID(wire.Unquote(of[0]), wire.Unquote(of[1]))))
	case v[3] != nil:
		of, err := fields(v[3], "id", "name", "response")
		if err != nil {
			return err
		}
		id := wire.GeminiCallID(wire.Unquote(of[0]), wire.Unquote(of[1]))
		output, err := wire.Members(of[2], "output")
		if err != nil || slices.Contains(m.Results, CallKey(id)) {
			return err
		}
		return m.addResult(quote(id), output[0])
	case isString(v[0]) && string(v[1]) != "true":
		m.addText(v[0])
	case isString(v[0]):
	case v[4] != nil || v[5] != nil:
		m.Units -= max(0, len(part)-imageUnits)
	default:
		m.Opaque = true
	}
	return nil
}

// content reads the content of a message in any form: a text, nothing, or blocks.
func (m *Message) content(b []byte) error {
	switch {
	case isString(b):
		m.addText(b)
		return nil
	case b == nil || b[0] == 'n':
		return nil
	case b[0] != '[':
		return shapeError("expected an array")
	}
	for block := range wire.Elements(b) {
		v, err := fields(block, "type", "text", "id", "tool_use_id", "content", "cache_control")
		if err != nil {
			return err
		}
		if v[5] != nil {
			m.mark = v[5]
			m.marks++
		}
		switch kind := wire.Unquote(v[0]); {
		case kind == "text" || kind == "input_text" || kind == "output_text":
			if !isString(v[1]) {
				return shapeError("a text block without text")
			}
			m.addText(v[1])
		case kind == "tool_use" || kind == "toolCall":
			err = m.addCall(v[2])
		case kind == "tool_result":
			err = m.addResult(v[3], v[4])
		case kind == "thinking" || kind == "redacted_thinking":
		case isFile(kind):
			m.Units -= max(0, len(block)-imageUnits)
		default:
			m.Opaque = true
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *Message) addCall(id []byte) error {
	if wire.Unquote(id) == "" {
		return shapeError("a call without an id")
	}
	m.Calls = append(m.Calls, CallKey(wire.Unquote(id)))
	return nil
}

// addResult adds the result of a call. An image in it has a fixed cost.
func (m *Message) addResult(call, output []byte) error {
	if wire.Unquote(call) == "" {
		return shapeError("a result without an id")
	}
	m.Results, m.outputs = append(m.Results, CallKey(wire.Unquote(call))), append(m.outputs, output)
	for block := range wire.Elements(output) {
		if block[0] != '{' {
			continue
		}
		v, err := fields(block, "type")
		if err != nil {
			return err
		}
		if isFile(wire.Unquote(v[0])) {
			m.Units -= max(0, len(block)-imageUnits)
		}
	}
	return nil
}

// isFile reports whether blocks of a kind hold an image or a document, in any form.
func isFile(kind string) bool {
	return slices.Contains([]string{"image", "document", "image_url", "input_image", "input_file", "file"}, kind)
}
