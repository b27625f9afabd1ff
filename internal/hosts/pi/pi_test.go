package pi

import (
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/hosttest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Shapes of entries that the fixtures do not show.
func TestRecords(t *testing.T) {
	const hidden, synthetic = store.FlagHidden, store.FlagSynthetic
	hosttest.Shapes(t, func(raw string) hosts.Record { return read(t, raw+"\n")[0] }, map[string]hosttest.Shape{
		"text":         {`{"type":"message","id":"m","parentId":null,"message":{"role":"user","content":"hello"}}`, llms.RoleUser, "hello", 0, "message"},
		"image":        {`{"type":"message","id":"m","message":{"role":"user","content":[{"type":"image","data":"aGk=","mimeType":"image/png"}]}}`, llms.RoleUser, "[image/png 2 B]", 0, "message"},
		"own command":  {`{"type":"message","id":"m","message":{"role":"bashExecution","command":"ls","output":"a b","exitCode":0}}`, llms.RoleUser, "ls\na b", 0, "message"},
		"extension's":  {`{"type":"message","id":"m","message":{"role":"custom","content":"x"}}`, llms.RoleUser, "x", synthetic, "message"},
		"compaction":   {`{"type":"compaction","id":"c","summary":"what was","firstKeptEntryId":"m"}`, llms.RoleUser, "what was", store.FlagHostSummary, "compaction"},
		"branch":       {`{"type":"branch_summary","id":"b","summary":"was tried","fromId":"m"}`, llms.RoleUser, "was tried", synthetic, "branch_summary"},
		"injected":     {`{"type":"custom_message","id":"b","content":"know this","display":false}`, llms.RoleUser, "know this", synthetic, "custom_message"},
		"name":         {`{"type":"session_info","id":"i","name":"Harbour"}`, llms.RoleSystem, "", hidden, "session_info"},
		"odd role":     {`{"type":"message","id":"m","message":{"role":"ghost"}}`, llms.RoleSystem, `{"type":"message","id":"m","message":{"role":"ghost"}}`, hidden | store.FlagUnknown, "message"},
		"unknown type": {`{"type":"telepathy","id":"x"}`, llms.RoleSystem, `{"type":"telepathy","id":"x"}`, hidden | store.FlagUnknown, "telepathy"},
	})
}

func read(t testing.TB, content string) []hosts.Record { return hosttest.ReadLines(t, New(), content) }

func FuzzRead(f *testing.F) {
	for _, line := range []string{
		`{"type":"message","id":"m","parentId":"l","message":{"role":"user","content":[{"type":"text","text":"hello"}]}}`,
		`{"type":"message","id":"m","message":{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"toolCall","id":"c","name":"x","arguments":{}}]}}`,
		`{"type":"message","id":"m","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"image","data":"!","mimeType":1}],"isError":true}}`,
		`{"type":"session","cwd":1}`, `{"type":"compaction"}`, "{", "\x00",
	} {
		f.Add(line + "\n" + line + "\n")
	}
	f.Fuzz(func(t *testing.T, content string) { read(t, content) })
}
