package wire

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// decodeCline reads a message of a session of Cline, or the session's own members. Messages
// have the shape of Anthropic's API, but for the results of the program's own tools.
func decodeCline(record []byte) llms.Message {
	s := [...]slot{{name: "role"}, {name: "id"}, {name: "ts"}, {name: "content"}, {name: "sessionId"}}
	find(record, s[:])
	m := llms.Message{Role: llms.RoleSystem, ID: s[1].str()}
	if s[2].val != nil {
		m.Time = readTime(s[2].val)
	}
	if s[0].val == nil && s[4].val != nil {
		return m
	}
	role := llms.Role(s[0].str())
	parts, err := readContent(s[3].val, clineBlock)
	if err != nil || role != llms.RoleUser && role != llms.RoleAssistant {
		m.Parts = []llms.Part{other(bytes.TrimSpace(record))}
		return m
	}
	m.Role, m.Parts = role, parts
	if role == llms.RoleUser && len(m.ToolResults()) == len(parts) && len(parts) > 0 {
		m.Role = llms.RoleTool
	}
	return m
}

// typed returns a prompt without the tag that Cline puts around it.
func typed(text string) string {
	rest, open := strings.CutPrefix(text, `<user_input mode="`)
	rest, closed := strings.CutSuffix(rest, "</user_input>")
	if _, prompt, ok := strings.Cut(rest, `">`); open && closed && ok {
		return prompt
	}
	return text
}

func clineBlock(block []byte) llms.Part {
	s := [...]slot{{name: "tool_use_id"}, {name: "content"}, {name: "is_error"}, {name: "name"}}
	find(block, s[:])
	p := anthropicBlock(block, 0)
	switch {
	case p.Kind == llms.PartText:
		p.Text = typed(p.Text)
	case p.Kind == llms.PartToolCall: // the document is indented
		var args bytes.Buffer
		if json.Compact(&args, []byte(p.Call.Arguments)) == nil {
			p.Call.Arguments = args.String()
		}
	case p.Kind == llms.PartToolResult && s[1].is('['):
		p.Result.Output = nil
		for element := range Elements(s[1].val) {
			output, failed := clineOutput(element)
			p.Result.Output, p.Result.IsError = append(p.Result.Output, output...), p.Result.IsError || failed
		}
	}
	if p.Result != nil {
		p.Result.Name = s[3].str()
	}
	return p
}

// clineOutput reads the result of one of the commands or files that a call asked for, or a
// block of the API.
func clineOutput(element []byte) (parts []llms.Part, failed bool) {
	s := [...]slot{{name: "type"}, {name: "result"}, {name: "error"}, {name: "success"}}
	find(element, s[:])
	switch {
	case s[0].val != nil:
		parts = []llms.Part{anthropicBlock(element, 1)}
	case s[1].is('"') && len(s[1].val) > 2:
		parts = textParts(s[1].val)
	case s[1].is('"') && s[2].val != nil:
		parts = textParts(s[2].val)
	case s[1].is('['): // a file with an image
		parts, _ = anthropicContent(s[1].val, 1)
	case !s[1].is('"'):
		parts = []llms.Part{other(element)}
	}
	return parts, s[3].is('f')
}
