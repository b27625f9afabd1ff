package wire

import (
	"bytes"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// decodeCopilot reads an event of a session of GitHub's Copilot CLI.
func decodeCopilot(record []byte) llms.Message {
	s := [...]slot{{name: "type"}, {name: "id"}, {name: "timestamp"}, {name: "data"}}
	find(record, s[:])
	m := llms.Message{Role: llms.RoleSystem, ID: s[1].str()}
	if s[2].val != nil {
		m.Time = readTime(s[2].val)
	}
	kind, data := s[0].str(), s[3].val
	switch kind {
	case "user.message":
		m.Role, m.Parts = llms.RoleUser, textParts(member(data, "content"))
		for item := range Elements(member(data, "attachments")) {
			m.Parts = append(m.Parts, other(item))
		}
	case "assistant.message":
		m.Role, m.Parts = llms.RoleAssistant, copilotAnswer(data)
	case "tool.user_requested":
		m.Role, m.Parts = llms.RoleAssistant, []llms.Part{copilotCall(data, "toolName")}
	case "tool.execution_complete":
		m.Role, m.Parts = llms.RoleTool, []llms.Part{{Kind: llms.PartToolResult, Result: copilotResult(data)}}
	case "skill.invoked", "system.notification":
		m.Role, m.Parts = llms.RoleUser, textParts(member(data, "content"))
	case "session.compaction_complete":
		m.Role, m.Parts = llms.RoleUser, textParts(member(data, "summaryContent"))
	case "session.error", "session.info", "session.warning":
		m.Parts = textParts(member(data, "message"))
	default:
		family, _, _ := strings.Cut(kind, ".")
		if !copilotFamilies[family] && !copilotBookkeeping[kind] {
			m.Parts = []llms.Part{other(bytes.TrimSpace(record))}
		}
	}
	return m
}

// copilotFamilies are the beginnings of types of events, up to a dot, that are all bookkeeping.
var copilotFamilies = map[string]bool{"hook": true, "mcp": true, "model": true, "permission": true, "subagent": true, "tool_search": true}

// copilotBookkeeping are the other types of events that tell a model nothing new. A
// system.message has the program's instructions and comes with each prompt.
var copilotBookkeeping = map[string]bool{
	"abort": true, "assistant.reasoning": true, "assistant.turn_end": true, "assistant.turn_start": true, "external_tool.requested": true,
	"human_response.recorded": true, "session.auto_mode_resolved": true, "session.autopilot_objective_changed": true, "session.binary_asset": true,
	"session.canvas.recorded": true, "session.canvas.removed": true, "session.compaction_start": true, "session.completion_receipt": true,
	"session.context_changed": true, "session.context_cleared": true, "session.handoff": true, "session.mode_changed": true,
	"session.mode_notice_delivered": true, "session.model_change": true, "session.model_deselected": true, "session.permission_recovery": true,
	"session.permissions_changed": true, "session.plan_changed": true, "session.remote_steerable_changed": true,
	"session.request_body_compression_disabled": true, "session.resume": true, "session.schedule_cancelled": true, "session.schedule_created": true,
	"session.schedule_rearmed": true, "session.session_limits_changed": true, "session.shutdown": true, "session.start": true,
	"session.task_complete": true, "session.truncation": true, "session.usage_checkpoint": true, "session.usage_record": true,
	"session.workspace_file_changed": true, "skill.context_delivered": true, "skill.context_delivered_ref": true, "skill.invoked_ref": true,
	"system.message": true, "tool.execution_start": true,
}

// copilotAnswer reads an answer of the model.
func copilotAnswer(data []byte) (parts []llms.Part) {
	s := [...]slot{{name: "content"}, {name: "toolRequests"}, {name: "reasoningText"}, {name: "reasoningOpaque"}, {name: "encryptedContent"}}
	find(data, s[:])
	if text, seal := s[2].str(), s[3].str()+s[4].str(); text+seal != "" {
		parts = append(parts, llms.Part{Kind: llms.PartReasoning, Text: text, Signature: seal})
	}
	parts = append(parts, textParts(s[0].val)...)
	for call := range Elements(s[1].val) {
		parts = append(parts, copilotCall(call, "name"))
	}
	return parts
}

// copilotCall reads a call whose tool is in a member called name.
func copilotCall(call []byte, name string) llms.Part {
	s := [...]slot{{name: "toolCallId"}, {name: name}, {name: "arguments"}}
	find(call, s[:])
	return llms.Part{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: s[0].str(), Name: s[1].str(), Arguments: text(s[2].val)}}
}

// copilotResult reads the result of a call. A command that failed is a successful call with
// an exit code.
func copilotResult(data []byte) *llms.ToolResult {
	s := [...]slot{{name: "toolCallId"}, {name: "success"}, {name: "result"}, {name: "error"}, {name: "shellExecution"}}
	find(data, s[:])
	code := string(member(s[4].val, "exitCode"))
	r := &llms.ToolResult{CallID: s[0].str(), IsError: string(s[1].val) == "false" || code != "" && code != "0" && code != "null"}
	if r.Output = textParts(member(s[2].val, "content")); r.Output == nil {
		r.Output = textParts(member(s[3].val, "message"))
	}
	return r
}
