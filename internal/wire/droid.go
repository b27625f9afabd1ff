package wire

import (
	"bytes"

	"github.com/lossless-context/lcm/llms"
)

// decodeDroid reads a line of a session of Factory's Droid. Messages have the shape of
// Anthropic's API, whatever API the program speaks.
func decodeDroid(record []byte) llms.Message {
	s := [...]slot{{name: "type"}, {name: "id"}, {name: "timestamp"}, {name: "message"}, {name: "summaryText"}}
	find(record, s[:])
	m := llms.Message{Role: llms.RoleSystem, ID: s[1].str()}
	if s[2].val != nil {
		m.Time = readTime(s[2].val)
	}
	switch s[0].str() {
	case "message":
		if s[3].is('{') {
			if said, err := decodeAnthropic(readEnvelope(s[3].val)); err == nil {
				m.Role, m.Parts = said.Role, said.Parts
				return m
			}
		}
	case "compaction_state":
		m.Role, m.Parts = llms.RoleUser, textParts(s[4].val)
		return m
	case "session_start", "agent_turn_outcome", "todo_state":
		return m
	}
	m.Parts = []llms.Part{other(bytes.TrimSpace(record))}
	return m
}
