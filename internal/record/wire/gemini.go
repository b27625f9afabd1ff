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
	return llms.Part{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: s[0].str(), Name: name, Arguments: string(args)}}
}

// geminiResult reads the result of a call: an output or an error, and files.
func geminiResult(result []byte) *llms.ToolResult {
	s := [...]slot{{name: "id"}, {name: "name"}, {name: "response"}, {name: "parts"}}
	find(result, s[:])
	r := &llms.ToolResult{CallID: s[0].str(), Name: s[1].str()}
	output, problem := member(s[2].val, "output"), member(s[2].val, "error")
	switch {
	case problem != nil:
		r.IsError = true
		output = problem
	case output == nil:
		output = s[2].val
	}
	if t := text(output); t != "" {
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
		m.Role, m.Parts = geminiRole(llms.RoleUser, parts), slices.DeleteFunc(parts, isOwnContext)
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

// isOwnContext reports whether a part is the text that lcm's hook has added to a prompt. Hosts
// made from Gemini CLI escape it and put it into the prompt's own message.
func isOwnContext(p llms.Part) bool {
	return p.Kind == llms.PartText && strings.HasPrefix(p.Text, "<qwen:user-prompt-submit-context>") && strings.Contains(p.Text, "&lt;lcm-context")
}

// qwenBookkeeping are the kinds of system records that tell a model nothing new.
var qwenBookkeeping = map[string]bool{
	"agent_bootstrap": true, "agent_launch_prompt": true, "agent_session_ready": true, "at_command": true, "attribution_snapshot": true,
	"background_task_completed": true, "branch_checkpoint": true, "custom_title": true, "file_history_snapshot": true, "goal_state": true,
	"goal_turn_end": true, "omni_recall": true, "parent_session": true, "rewind": true, "session_artifact_event": true,
	"session_artifact_snapshot": true, "session_model": true, "session_source": true, "session_sources_snapshot": true, "slash_command": true,
	"turn_result": true, "ui_telemetry": true, "user_text_elements": true,
}
