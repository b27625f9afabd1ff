package wire

import (
	"bytes"

	"github.com/lossless-context/lcm/llms"
)

// decodePi reads an entry of a session of pi, or of a program that is built on it.
func decodePi(record []byte) llms.Message {
	s := [...]slot{{name: "type"}, {name: "id"}, {name: "timestamp"}, {name: "message"}, {name: "summary"}, {name: "content"}}
	find(record, s[:])
	m := llms.Message{Role: llms.RoleSystem, ID: s[1].str()}
	if s[2].val != nil {
		m.Time = readTime(s[2].val)
	}
	switch s[0].str() {
	case "message":
		if piMessage(&m, s[3].val) {
			return m
		}
	case "compaction", "branch_summary":
		m.Role, m.Parts = llms.RoleUser, textParts(s[4].val)
		return m
	case "custom_message":
		m.Role, m.Parts = llms.RoleUser, piContent(s[5].val)
		return m
	case "session", "model_change", "thinking_level_change", "label", "session_info", "custom", "leaf", "reset":
		return m
	}
	m.Role, m.Parts = llms.RoleSystem, []llms.Part{other(bytes.TrimSpace(record))}
	return m
}

// piMessage reads a message and reports whether it knows its role. That of the role system
// has the program's instructions.
func piMessage(m *llms.Message, message []byte) bool {
	s := [...]slot{{name: "role"}, {name: "content"}, {name: "toolCallId"}, {name: "isError"}, {name: "command"}, {name: "output"}, {name: "toolName"}}
	find(message, s[:])
	content := piContent(s[1].val)
	switch s[0].str() {
	case "user", "assistant":
		m.Role, m.Parts = llms.Role(s[0].str()), content
	case "custom":
		m.Role, m.Parts = llms.RoleUser, content
	case "toolResult":
		result := &llms.ToolResult{CallID: s[2].str(), Name: s[6].str(), Output: content, IsError: string(s[3].val) == "true"}
		m.Role, m.Parts = llms.RoleTool, []llms.Part{{Kind: llms.PartToolResult, Result: result}}
	case "bashExecution": // a command of the user's own
		m.Role, m.Parts = llms.RoleUser, append(textParts(s[4].val), textParts(s[5].val)...)
	case "system":
	default:
		return false
	}
	return true
}

// piContent reads a string or an array of blocks.
func piContent(content []byte) []llms.Part {
	if len(content) == 0 || content[0] != '[' {
		return textParts(content)
	}
	var parts []llms.Part
	for block := range Elements(content) {
		s := [...]slot{{name: "type"}, {name: "text"}, {name: "thinking"}, {name: "thinkingSignature"}, {name: "data"}, {name: "mimeType"}, {name: "id"}, {name: "name"}, {name: "arguments"}}
		find(block, s[:])
		switch s[0].str() {
		case "text":
			parts = append(parts, textParts(s[1].val)...)
		case "thinking":
			parts = append(parts, llms.Part{Kind: llms.PartReasoning, Text: s[2].str(), Signature: s[3].str()})
		case "toolCall":
			name, args := s[7].str(), s[8].val
			if inner := Unquote(member(args, "id")); name == "tool_call" && inner != "" { // how OpenClaw calls a tool that it does not list
				name, args = inner, member(args, "args")
			}
			parts = append(parts, llms.Part{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: s[6].str(), Name: name, Arguments: text(args)}})
		case "image":
			parts = append(parts, llms.Part{Kind: llms.PartBlob, Blob: blobOf("data:"+s[5].str()+";base64,"+s[4].str(), s[5].str(), "")})
		default:
			parts = append(parts, other(block))
		}
	}
	return parts
}
