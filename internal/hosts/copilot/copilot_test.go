package copilot

import (
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/hosttest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Shapes of events that the fixtures do not show.
func TestRecords(t *testing.T) {
	const hidden, synthetic = store.FlagHidden, store.FlagSynthetic
	hosttest.Shapes(t, func(raw string) hosts.Record { return read(t, raw+"\n")[0] }, map[string]hosttest.Shape{
		"prompt":        {`{"type":"user.message","id":"e","parentId":"d","data":{"content":"hello"}}`, llms.RoleUser, "hello", 0, "user.message"},
		"a skill's":     {`{"type":"user.message","id":"e","data":{"content":"x","source":"skill-pdf"}}`, llms.RoleUser, "x", synthetic, "user.message"},
		"goes on":       {`{"type":"user.message","id":"e","data":{"content":"x","isAutopilotContinuation":true}}`, llms.RoleUser, "x", synthetic, "user.message"},
		"a sub-agent's": {`{"type":"assistant.message","id":"e","agentId":"a","data":{"content":"x"}}`, llms.RoleAssistant, "x", hidden, "assistant.message"},
		"skill":         {`{"type":"skill.invoked","id":"e","data":{"content":"do so"}}`, llms.RoleUser, "do so", synthetic, "skill.invoked"},
		"the user's":    {`{"type":"tool.user_requested","id":"e","data":{"toolCallId":"c","toolName":"bash","arguments":{"a":1}}}`, llms.RoleAssistant, `→ bash({"a":1})`, 0, "tool.user_requested"},
		"failed":        {`{"type":"tool.execution_complete","id":"e","data":{"toolCallId":"c","success":false,"error":{"message":"no"}}}`, llms.RoleTool, "← error: no", 0, "tool.execution_complete"},
		"warning":       {`{"type":"session.warning","id":"e","data":{"message":"careful"}}`, llms.RoleSystem, "careful", hidden, "session.warning"},
		"hook":          {`{"type":"hook.end","id":"e","data":{}}`, llms.RoleSystem, "", hidden, "hook.end"},
		"unknown type":  {`{"type":"telepathy","id":"e","data":{"content":"x"}}`, llms.RoleSystem, `{"type":"telepathy","id":"e","data":{"content":"x"}}`, hidden | store.FlagUnknown, "telepathy"},
		"without data":  {`{"type":"user.message","id":"e"}`, llms.RoleUser, "", hidden, "user.message"},
		"no object":     {`[1]`, llms.RoleSystem, "[1]", hidden | store.FlagUnknown, "(none)"},
		"not JSON":      {`{"type":`, llms.RoleSystem, `{"type":`, hidden | store.FlagUnknown, "(damaged)"},
	})
}

func read(t testing.TB, content string) []hosts.Record { return hosttest.ReadLines(t, New(), content) }

func FuzzRead(f *testing.F) {
	for _, line := range []string{
		`{"type":"user.message","id":"e","parentId":"d","data":{"content":"hello","attachments":[{"type":"file","path":"/x"}]}}`,
		`{"type":"assistant.message","id":"e","data":{"content":"x","toolRequests":[{"toolCallId":"c","name":"bash","arguments":{}}],"reasoningText":"r"}}`,
		`{"type":"tool.execution_complete","data":{"toolCallId":"c","success":true,"result":{"content":"x"},"shellExecution":{"exitCode":1}}}`,
		`{"type":"session.start","data":{"context":1}}`, `{"type":"user.message","data":[]}`, "{", "\x00",
	} {
		f.Add(line + "\n" + line + "\n")
	}
	f.Fuzz(func(t *testing.T, content string) { read(t, content) })
}
