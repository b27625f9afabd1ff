package wire

import (
	"bytes"
	"cmp"

	"github.com/lossless-context/lcm/llms"
)

// decodeOpencode reads a row of opencode's database. A part is the role's; a
// tool part is a call and, once there is one, its result.
func decodeOpencode(role llms.Role, record []byte) llms.Message {
	s := [...]slot{{name: "id"}, {name: "message_id"}, {name: "time_created"}, {name: "data"}, {name: "type"}, {name: "seq"}}
	find(record, s[:])
	m := llms.Message{Role: llms.RoleSystem, ID: s[0].str()}
	if s[2].val != nil {
		m.Time = readTime(s[2].val)
	}
	data := s[3].val
	if s[5].val != nil {
		var known bool
		if m.Role, m.Parts, known = opencodeMessage(s[4].str(), data); !known {
			m.Parts = []llms.Part{other(bytes.TrimSpace(record))}
		}
		return m
	}
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

// opencodeMessage reads a message of opencode 2, which is one row, and reports whether it knows
// its type. It follows the types that the program publishes.
func opencodeMessage(kind string, data []byte) (role llms.Role, parts []llms.Part, known bool) {
	s := [...]slot{{name: "text"}, {name: "files"}, {name: "command"}, {name: "output"}, {name: "content"}, {name: "summary"}}
	find(data, s[:])
	switch kind {
	case "user", "synthetic", "system":
		role, parts = llms.RoleUser, textParts(s[0].val)
		if kind == "system" {
			role = llms.RoleSystem
		}
		for file := range Elements(s[1].val) {
			f := [...]slot{{name: "mime"}, {name: "name"}, {name: "uri"}}
			find(file, f[:])
			parts = append(parts, llms.Part{Kind: llms.PartBlob, Blob: blobOf(f[2].str(), cmp.Or(f[0].str(), "application/octet-stream"), f[1].str())})
		}
		return role, parts, true
	case "shell": // the user's own command
		return llms.RoleUser, append(textParts(s[2].val), textParts(s[3].val)...), true
	case "compaction":
		return llms.RoleUser, textParts(s[5].val), true
	case "agent-switched", "model-switched":
		return llms.RoleSystem, nil, true
	case "assistant":
		for item := range Elements(s[4].val) {
			some, ok := opencodePart(item)
			if ok && member(item, "callID") == nil && string(member(item, "type")) == `"tool"` {
				some = opencodeCall(item)
			}
			if !ok {
				some = []llms.Part{other(item)}
			}
			parts = append(parts, some...)
		}
		return llms.RoleAssistant, parts, true
	}
	return llms.RoleSystem, nil, false
}

// opencodeCall reads a call and its result of opencode 2.
func opencodeCall(data []byte) []llms.Part {
	s := [...]slot{{name: "id"}, {name: "name"}, {name: "state"}}
	find(data, s[:])
	t := [...]slot{{name: "status"}, {name: "input"}, {name: "content"}, {name: "error"}}
	find(s[2].val, t[:])
	parts := []llms.Part{{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: s[0].str(), Name: s[1].str(), Arguments: string(t[1].val)}}}
	r := &llms.ToolResult{CallID: s[0].str(), Name: s[1].str(), IsError: t[0].str() == "error"}
	if !r.IsError && t[0].str() != "completed" {
		return parts
	}
	for item := range Elements(t[2].val) {
		if some, ok := opencodePart(item); ok {
			r.Output = append(r.Output, some...)
		}
	}
	if r.IsError {
		r.Output = append(r.Output, textParts(member(t[3].val, "message"))...)
	}
	return append(parts, llms.Part{Kind: llms.PartToolResult, Result: r})
}
