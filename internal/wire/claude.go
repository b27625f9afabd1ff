package wire

import (
	"bytes"

	"github.com/lossless-context/lcm/llms"
)

// decodeClaude reads a line of a transcript of Claude Code. Several lines may
// be one answer of the model, each with a block of it.
func decodeClaude(record []byte) llms.Message {
	s := [...]slot{{name: "type"}, {name: "uuid"}, {name: "timestamp"}, {name: "message"}, {name: "content"}, {name: "summary"}, {name: "attachment"}}
	find(record, s[:])
	kind, content := s[0].str(), s[4].val
	m := llms.Message{Role: llms.RoleSystem, ID: s[1].str()}
	if s[2].val != nil {
		m.Time = readTime(s[2].val)
	}
	switch kind {
	case "user", "assistant":
		if s[3].is('{') {
			if said, err := decodeAnthropic(readEnvelope(s[3].val)); err == nil {
				m.Role, m.Parts = said.Role, said.Parts
				return m
			}
		}
	case "system":
		m.Parts = textParts(content)
		return m
	case "summary":
		m.Parts = textParts(s[5].val)
		return m
	case "attachment":
		return claudeAttachment(m, s[6].val)
	}
	if !claudeBookkeeping[kind] {
		m.Parts = []llms.Part{other(bytes.TrimSpace(record))}
	}
	return m
}

// claudeBookkeeping are the types of records that tell a model nothing new.
var claudeBookkeeping = map[string]bool{
	"agent-color": true, "agent-name": true, "agent-setting": true, "ai-title": true, "api-request": true,
	"api-request-blob": true, "api-request-shape": true, "atis-latch": true, "attribution-snapshot": true,
	"content-replacement": true, "continued-in": true, "cost-state": true, "custom-title": true, "file-history-snapshot": true,
	"last-prompt": true, "mode": true, "permission-mode": true, "pr-link": true, "progress": true, "queue-operation": true,
	"relocated": true, "speculation-accept": true, "tag": true, "task-summary": true, "tools-used": true, "worktree-state": true,
}

// claudeListings are attachments that list abilities of the program.
var claudeListings = map[string]bool{
	"agent_listing_delta": true, "critical_system_reminder": true, "date": true, "date_change": true, "deferred_tools_delta": true,
	"environment": true, "mcp_instructions_delta": true, "model": true, "output_style": true, "prompt_snapshot": true,
	"remote_session_change": true, "session_context": true, "skill_listing": true, "task_reminder": true, "todo_reminder": true,
	"token_usage": true, "total_tokens_reminder": true, "ultrathink_effort": true,
}

// claudeAttachment reads an attachment of a prompt. A prompt that the user typed
// while the model was busy comes as one.
func claudeAttachment(m llms.Message, attachment []byte) llms.Message {
	kind := Unquote(member(attachment, "type"))
	if kind == "queued_command" {
		prompt := member(attachment, "prompt")
		if parts, err := anthropicContent(prompt, 0); err == nil && len(parts) > 0 {
			m.Role, m.Parts = llms.RoleUser, parts
			return m
		}
	}
	if attachment != nil && !claudeListings[kind] {
		m.Parts = []llms.Part{other(attachment)}
	}
	return m
}
