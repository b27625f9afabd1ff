package wire

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// geminiParts reads the parts of a message in the shape of Gemini's API, which Gemini CLI and
// Qwen Code write.
func geminiParts(parts []byte) (all []llms.Part) {
	for part := range Elements(parts) {
		if part[0] == '"' {
			all = append(all, textParts(part)...)
			continue
		}
		s := [...]slot{{name: "text"}, {name: "thought"}, {name: "thoughtSignature"}, {name: "functionCall"}, {name: "functionResponse"}, {name: "inlineData"}, {name: "fileData"}}
		find(part, s[:])
		switch {
		case s[3].is('{'):
			all = append(all, geminiCall(s[3].val))
		case s[4].is('{'):
			all = append(all, llms.Part{Kind: llms.PartToolResult, Result: geminiResult(s[4].val)})
		case s[0].is('"') && string(s[1].val) == "true":
			all = append(all, llms.Part{Kind: llms.PartReasoning, Text: s[0].str(), Signature: s[2].str()})
		case s[0].is('"'):
			all = append(all, textParts(s[0].val)...)
		case s[5].is('{'):
			mime := cmp.Or(Unquote(member(s[5].val, "mimeType")), "application/octet-stream")
			all = append(all, llms.Part{Kind: llms.PartBlob, Blob: blobOf("data:"+mime+";base64,"+Unquote(member(s[5].val, "data")), mime, "")})
		case s[6].is('{'):
			mime := cmp.Or(Unquote(member(s[6].val, "mimeType")), "application/octet-stream")
			all = append(all, llms.Part{Kind: llms.PartBlob, Blob: blobOf(Unquote(member(s[6].val, "fileUri")), mime, "")})
		default:
			all = append(all, other(part))
		}
	}
	return all
}

// geminiCall reads a call. Qwen Code calls tools that it does not list through another one,
// tool_call.
func geminiCall(call []byte) llms.Part {
	s := [...]slot{{name: "id"}, {name: "name"}, {name: "args"}}
	find(call, s[:])
	name, args := s[1].str(), s[2].val
	if inner := Unquote(member(args, "name")); name == "tool_call" && inner != "" {
		name, args = inner, member(args, "arguments")
	}
	return llms.Part{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: GeminiCallID(s[0].str(), s[1].str()), Name: name, Arguments: string(args)}}
}

// GeminiCallID returns the id of a call as the model knows it: Gemini CLI puts the name of the
// tool before it in its records.
func GeminiCallID(id, tool string) string { return strings.TrimPrefix(id, tool+"__") }

// geminiResult reads the result of a call: an output or an error, and files.
func geminiResult(result []byte) *llms.ToolResult {
	s := [...]slot{{name: "id"}, {name: "name"}, {name: "response"}, {name: "parts"}}
	find(result, s[:])
	r := &llms.ToolResult{CallID: GeminiCallID(s[0].str(), s[1].str()), Name: s[1].str()}
	output, problem := member(s[2].val, "output"), member(s[2].val, "error")
	switch {
	case problem != nil:
		r.IsError = true
		output = problem
	case output == nil:
		output = s[2].val
	}
	t := text(output)
	if i := strings.LastIndex(t, hookContext); i >= 0 {
		if rest, ok := cutOwnContext(t[i:]); ok {
			t = strings.TrimSpace(t[:i] + rest)
		}
	}
	if t != "" {
		r.Output = []llms.Part{{Kind: llms.PartText, Text: t}}
	}
	r.Output = append(r.Output, geminiParts(s[3].val)...)
	return r
}

// geminiRole returns the role of a message: results of tools are in messages of the user.
func geminiRole(role llms.Role, parts []llms.Part) llms.Role {
	for _, p := range parts {
		if p.Result != nil {
			return llms.RoleTool
		}
	}
	return role
}

// decodeGemini reads a line of a session of Gemini CLI, or a content of Gemini's API.
func decodeGemini(record []byte) llms.Message {
	s := [...]slot{{name: "id"}, {name: "timestamp"}, {name: "type"}, {name: "content"}, {name: "role"}, {name: "parts"}, {name: "$set"}, {name: "$rewindTo"}, {name: "projectHash"}}
	find(record, s[:])
	m := llms.Message{Role: llms.RoleSystem, ID: s[0].str()}
	if s[1].val != nil {
		m.Time = readTime(s[1].val)
	}
	switch kind := s[2].str(); {
	case s[5].is('['):
		m.Parts = geminiParts(s[5].val)
		if m.Role = geminiRole(llms.RoleUser, m.Parts); s[4].str() == "model" {
			m.Role = llms.RoleAssistant
		}
	case kind == "user":
		m.Parts = withoutOwnContext(geminiContent(s[3].val))
		m.Role = geminiRole(llms.RoleUser, m.Parts)
	case kind == "gemini":
		m.Role, m.Parts = llms.RoleAssistant, geminiAnswer(record, s[3].val)
	case kind == "info", kind == "warning", kind == "error":
		m.Parts = geminiContent(s[3].val)
	case s[6].is('{'):
		m.Role, m.Parts = geminiSnapshot(member(s[6].val, "messages"))
		if at := member(s[6].val, "lastUpdated"); at != nil {
			m.Time = readTime(at)
		}
	case s[7].val == nil && s[8].val == nil: // else it goes back, or begins or goes on
		m.Parts = []llms.Part{other(bytes.TrimSpace(record))}
	}
	return m
}

// geminiContent reads the content of a record: a text, a part, or a list of both.
func geminiContent(content []byte) []llms.Part {
	if len(content) > 0 && content[0] == '"' {
		return textParts(content)
	}
	if len(content) > 0 && content[0] == '{' {
		content = slices.Concat([]byte("["), content, []byte("]"))
	}
	return geminiParts(content)
}

// geminiAnswer reads an answer of the model. The program writes an answer with calls twice:
// without them, and with them and their results when they have ended. The second record
// gives the calls alone; the results have a record of their own.
func geminiAnswer(record, content []byte) (parts []llms.Part) {
	said := geminiContent(content)
	if slices.ContainsFunc(said, func(p llms.Part) bool { return p.Call != nil }) {
		return said
	}
	for call := range Elements(member(record, "toolCalls")) {
		parts = append(parts, geminiCall(call))
	}
	if len(parts) > 0 {
		return parts
	}
	for thought := range Elements(member(record, "thoughts")) {
		s := [...]slot{{name: "subject"}, {name: "description"}}
		find(thought, s[:])
		if text := strings.TrimSpace(s[0].str() + "\n" + s[1].str()); text != "" {
			parts = append(parts, llms.Part{Kind: llms.PartReasoning, Text: text})
		}
	}
	return append(parts, said...)
}

// geminiSnapshot finds the summary in a history that replaces the one before.
func geminiSnapshot(messages []byte) (llms.Role, []llms.Part) {
	for said := range Elements(messages) {
		for _, p := range geminiContent(member(said, "content")) {
			if p.Kind == llms.PartText && strings.HasPrefix(strings.TrimSpace(p.Text), "<state_snapshot>") {
				return llms.RoleUser, []llms.Part{p}
			}
		}
	}
	return llms.RoleSystem, nil
}

// decodeQwen reads a line of a session of Qwen Code.
func decodeQwen(record []byte) llms.Message {
	s := [...]slot{{name: "type"}, {name: "uuid"}, {name: "timestamp"}, {name: "message"}, {name: "subtype"}, {name: "systemPayload"}}
	find(record, s[:])
	m := llms.Message{Role: llms.RoleSystem, ID: s[1].str()}
	if s[2].val != nil {
		m.Time = readTime(s[2].val)
	}
	known := s[3].is('{')
	parts := geminiParts(member(s[3].val, "parts"))
	switch kind, sub := s[0].str(), s[4].str(); {
	case kind == "assistant":
		m.Role, m.Parts, known = llms.RoleAssistant, parts, known || s[3].val == nil // an answer may be empty
	case kind == "user", kind == "tool_result":
		m.Role, m.Parts = geminiRole(llms.RoleUser, parts), withoutOwnContext(parts)
	case kind == "system" && sub == "chat_compression": // the history begins with the summary
		known = true
		for said := range Elements(member(s[5].val, "compressedHistory")) {
			m.Role, m.Parts = llms.RoleUser, geminiParts(member(said, "parts"))
			break
		}
	default:
		known = kind == "system" && qwenBookkeeping[sub]
	}
	if !known {
		m.Role, m.Parts = llms.RoleSystem, []llms.Part{other(bytes.TrimSpace(record))}
	}
	return m
}

// IsQwen reports whether a line is one of Qwen Code. Its records look like Claude Code's, but
// have messages with parts, or payloads, or are of its own kinds.
func IsQwen(record []byte) bool {
	s := [...]slot{{name: "type"}, {name: "message"}, {name: "subtype"}, {name: "systemPayload"}}
	find(record, s[:])
	sub := s[2].str()
	return s[3].val != nil || member(s[1].val, "parts") != nil || s[0].str() == "system" && (qwenBookkeeping[sub] || sub == "chat_compression")
}

// withoutOwnContext removes the text that lcm's hook has added to a prompt. Gemini CLI and hosts
// made from it escape it and put it into the prompt's own message.
func withoutOwnContext(parts []llms.Part) (rest []llms.Part) {
	for _, p := range parts {
		own := false
		if p.Kind == llms.PartText {
			p.Text, own = cutOwnContext(p.Text)
		}
		if !own || p.Text != "" {
			rest = append(rest, p)
		}
	}
	return rest
}

// cutOwnContext removes the text of lcm's hook from the beginning of a text.
func cutOwnContext(text string) (rest string, found bool) {
	for _, name := range []string{hookContext, "<qwen:user-prompt-submit-context>"} {
		said, rest, _ := strings.Cut(text, "</"+name[1:])
		if strings.HasPrefix(said, name) && strings.Contains(said, "&lt;lcm-context") {
			return strings.TrimSpace(rest), true
		}
	}
	// Qwen Code 0.15 puts it into a part of its own, without a tag around it.
	if said, ok := strings.CutPrefix(text, `&lt;lcm-context source="lcm"&gt;`); ok {
		if i := strings.LastIndex(said, ownContextEnd); i >= 0 {
			return strings.TrimSpace(said[i+len(ownContextEnd):]), true
		}
	}
	return text, false
}

const ownContextEnd = "&lt;/lcm-context&gt;"

// hookContext begins the text of a hook in Gemini CLI.
const hookContext = "<hook_context>"

// qwenBookkeeping are the kinds of system records that tell a model nothing new.
var qwenBookkeeping = map[string]bool{
	"agent_bootstrap": true, "agent_launch_prompt": true, "agent_session_ready": true, "at_command": true, "attribution_snapshot": true,
	"background_task_completed": true, "branch_checkpoint": true, "custom_title": true, "file_history_snapshot": true, "goal_state": true,
	"goal_turn_end": true, "omni_recall": true, "parent_session": true, "rewind": true, "session_artifact_event": true,
	"session_artifact_snapshot": true, "session_model": true, "session_source": true, "session_sources_snapshot": true, "slash_command": true,
	"turn_result": true, "ui_telemetry": true, "user_text_elements": true,
}
