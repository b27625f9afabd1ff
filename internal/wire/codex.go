package wire

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// decodeCodex reads a line of a rollout of the Codex CLI: an item of the
// conversation in its payload, or bookkeeping. Old rollouts have the item
// itself as their line.
func decodeCodex(record []byte) llms.Message {
	s := [...]slot{{name: "type"}, {name: "timestamp"}, {name: "payload"}}
	find(record, s[:])
	m := llms.Message{Role: llms.RoleSystem}
	if s[1].val != nil {
		m.Time = readTime(s[1].val)
	}
	kind, payload := s[0].str(), s[2].val
	known := true
	switch {
	case kind == "response_item":
		known = codexItem(&m, payload)
	case kind == "event_msg":
		event := Unquote(member(payload, "type"))
		if known = codexEvents[event]; event == "error" || event == "warning" {
			m.Parts = textParts(member(payload, "message"))
		}
	case kind == "compacted":
		m.Role = llms.RoleUser
		m.Parts = textParts(member(payload, "message"))
	case payload == nil && kind != "":
		known = codexItem(&m, record)
	case payload == nil: // the first line, and marks of state, of old rollouts
		known = member(record, "record_type") != nil || member(record, "id") != nil && s[1].val != nil
	default:
		known = codexBookkeeping[kind]
	}
	if !known {
		m.Role, m.Parts = llms.RoleSystem, []llms.Part{other(bytes.TrimSpace(record))}
	}
	return m
}

var codexBookkeeping = map[string]bool{
	"inter_agent_communication": true, "inter_agent_communication_metadata": true, "security_risk_score": true, "session_meta": true,
	"token_usage_record": true, "turn_context": true, "world_state": true,
}

// codexEvents are the events that the program shows while it works. Response items
// repeat their content.
var codexEvents = map[string]bool{
	"agent_message": true, "agent_reasoning": true, "agent_reasoning_raw_content": true, "agent_reasoning_section_break": true,
	"background_event": true, "context_compacted": true, "deprecation_notice": true, "entered_review_mode": true, "error": true,
	"exec_command_begin": true, "exec_command_end": true, "exited_review_mode": true, "image_generation_end": true, "item_completed": true,
	"item_started": true, "mcp_tool_call_begin": true, "mcp_tool_call_end": true, "model_reroute": true, "patch_apply_begin": true,
	"patch_apply_end": true, "plan_update": true, "session_configured": true, "stream_error": true, "task_complete": true,
	"task_started": true, "thread_goal_updated": true, "thread_name_updated": true, "thread_rolled_back": true,
	"thread_settings_applied": true, "token_count": true, "turn_aborted": true, "turn_complete": true, "turn_diff": true,
	"turn_started": true, "undo_completed": true, "undo_started": true, "user_message": true, "view_image_tool_call": true,
	"warning": true, "web_search_begin": true, "web_search_end": true,
}

// codexItem reads an item of the conversation, in the shape of OpenAI's
// Responses API. It reports whether it knows the item's type.
func codexItem(m *llms.Message, item []byte) bool {
	s := [...]slot{{name: "type"}, {name: "role"}, {name: "content"}, {name: "call_id"}, {name: "name"}, {name: "namespace"},
		{name: "arguments"}, {name: "input"}, {name: "output"}, {name: "action"}, {name: "id"}}
	find(item, s[:])
	call := func(name, arguments string) bool {
		id := cmp.Or(s[3].str(), s[10].str())
		if space := s[5].str(); space != "" {
			name = space + "__" + name
		}
		m.Role = llms.RoleAssistant
		m.Parts = []llms.Part{{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: id, Name: name, Arguments: arguments}}}
		return true
	}
	switch s[0].str() {
	case "message":
		switch role := s[1].str(); role {
		case "developer":
		case "user", "assistant", "system":
			m.Role = llms.Role(role)
		default:
			return false
		}
		m.Parts = codexContent(s[2].val)
	case "agent_message":
		m.Role, m.Parts = llms.RoleUser, codexContent(s[2].val)
	case "reasoning":
		m.Role, m.Parts = llms.RoleAssistant, codexReasoning(item)
	case "function_call":
		return call(s[4].str(), text(s[6].val))
	case "custom_tool_call":
		return call(s[4].str(), text(s[7].val))
	case "local_shell_call":
		return call("local_shell", string(s[9].val))
	case "function_call_output", "custom_tool_call_output":
		m.Role = llms.RoleTool
		m.Parts = []llms.Part{{Kind: llms.PartToolResult, Result: codexOutput(s[3].str(), s[8].val)}}
	case "web_search_call", "tool_search_call", "tool_search_output", "image_generation_call":
		m.Role, m.Parts = llms.RoleAssistant, []llms.Part{other(item)}
	case "compaction", "context_compaction", "compaction_summary", "ghost_snapshot":
	default:
		return false
	}
	return true
}

// codexContent reads a string or an array of content items.
func codexContent(content []byte) []llms.Part {
	if len(content) == 0 || content[0] != '[' {
		return textParts(content)
	}
	var parts []llms.Part
	for item := range Elements(content) {
		switch Unquote(member(item, "type")) {
		case "input_text", "output_text", "text", "summary_text", "reasoning_text", "Text":
			if t := member(item, "text"); len(t) > 0 && t[0] == '"' {
				parts = append(parts, llms.Part{Kind: llms.PartText, Text: Unquote(t)})
				continue
			}
		case "input_image":
			if url := Unquote(member(item, "image_url")); url != "" {
				parts = append(parts, llms.Part{Kind: llms.PartBlob, Blob: blobOf(url, anyImage, "")})
				continue
			}
		}
		parts = append(parts, other(item))
	}
	return parts
}

// codexReasoning reads the reasoning of the model: a summary, the text itself, or
// both. The rest is encrypted.
func codexReasoning(item []byte) []llms.Part {
	var told []string
	for _, name := range []string{"summary", "content"} {
		for _, p := range codexContent(member(item, name)) {
			if p.Kind == llms.PartText && p.Text != "" {
				told = append(told, p.Text)
			}
		}
	}
	seal := Unquote(member(item, "encrypted_content"))
	if len(told) == 0 && seal == "" {
		return nil
	}
	return []llms.Part{{Kind: llms.PartReasoning, Text: strings.Join(told, "\n\n"), Signature: seal}}
}

// codexOutput reads the output of a call: a string, content items, or in old
// rollouts an object with the one or the other.
func codexOutput(id string, output []byte) *llms.ToolResult {
	r := &llms.ToolResult{CallID: id}
	if len(output) > 0 && output[0] == '{' {
		r.IsError = string(member(output, "success")) == "false"
		if content := member(output, "content"); content != nil {
			output = content
		}
	}
	if len(output) > 0 && output[0] == '{' {
		r.Output = []llms.Part{other(output)}
	} else {
		r.Output = codexContent(output)
	}
	return r
}

// blobOf reads a URL that may hold the data itself.
func blobOf(url, mime, name string) *llms.Blob {
	b := fromURL(url)
	b.Name = name
	if b.Data == nil || b.MIME == "" {
		b.MIME = mime
	}
	return b
}
