package wire

import (
	"bytes"
	"cmp"

	"github.com/lossless-context/lcm/llms"
)

// decodeOpencode reads a row of opencode's database. A part is the role's; a
// tool part is a call and, once there is one, its result.
func decodeOpencode(role llms.Role, record []byte) llms.Message {
	s := [...]slot{{name: "id"}, {name: "message_id"}, {name: "time_created"}, {name: "data"}, {name: "type"}}
	find(record, s[:])
	m := llms.Message{Role: llms.RoleSystem, ID: s[0].str()}
	if s[2].val != nil {
		m.Time = readTime(s[2].val)
	}
	data := s[3].val
	if role.Valid() {
		m.Role = role
	}
	if s[1].val == nil {
		if s[4].val != nil || data == nil && member(record, "directory") == nil {
			m.Parts = []llms.Part{other(bytes.TrimSpace(record))}
		}
		return m
	}
	var known bool
	if m.Parts, known = opencodePart(data); !known {
		m.Parts = []llms.Part{other(bytes.TrimSpace(record))}
	}
	return m
}

// opencodePart reads one part of a message, and reports whether it knows its
// type.
func opencodePart(data []byte) ([]llms.Part, bool) {
	s := [...]slot{{name: "type"}, {name: "text"}, {name: "tool"}, {name: "callID"}, {name: "state"}, {name: "mime"}, {name: "filename"}, {name: "url"},
		{name: "prompt"}}
	find(data, s[:])
	switch s[0].str() {
	case "text":
		return textParts(s[1].val), true
	case "reasoning":
		if text := s[1].str(); text != "" {
			return []llms.Part{{Kind: llms.PartReasoning, Text: text}}, true
		}
		return nil, true
	case "tool":
		return opencodeTool(s[3].str(), s[2].str(), s[4].val), true
	case "file":
		mime := cmp.Or(s[5].str(), "application/octet-stream")
		return []llms.Part{{Kind: llms.PartBlob, Blob: blobOf(s[7].str(), mime, s[6].str())}}, true
	case "subtask":
		return textParts(s[8].val), true
	case "step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction":
		return nil, true
	}
	return nil, false
}

// opencodeTool reads a call and its result, which are one part.
func opencodeTool(id, name string, state []byte) []llms.Part {
	s := [...]slot{{name: "status"}, {name: "input"}, {name: "output"}, {name: "error"}, {name: "attachments"}}
	find(state, s[:])
	parts := []llms.Part{{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: id, Name: name, Arguments: string(s[1].val)}}}
	r := &llms.ToolResult{CallID: id, Name: name}
	switch s[0].str() {
	case "completed":
		r.Output = textParts(s[2].val)
	case "error":
		r.Output, r.IsError = textParts(s[3].val), true
	default:
		return parts
	}
	for item := range Elements(s[4].val) {
		if file, ok := opencodePart(item); ok {
			r.Output = append(r.Output, file...)
		}
	}
	return append(parts, llms.Part{Kind: llms.PartToolResult, Result: r})
}
