package droid

import (
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/hosttest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Shapes of records that the fixtures do not show.
func TestRecords(t *testing.T) {
	const hidden = store.FlagHidden
	hosttest.Shapes(t, func(raw string) hosts.Record { return read(t, raw+"\n")[0] }, map[string]hosttest.Shape{
		"prompt":       {`{"type":"message","id":"m","parentId":"l","message":{"role":"user","content":[{"type":"text","text":"hello"}]}}`, llms.RoleUser, "hello", 0, "message"},
		"hook":         {`{"type":"message","id":"m","message":{"role":"user","content":[],"visibility":"user_only","hookEventName":"Stop"}}`, llms.RoleUser, "", hidden, "message"},
		"notice":       {`{"type":"message","id":"m","message":{"role":"user","content":[{"type":"text","text":"x"}],"visibility":"user_only"}}`, llms.RoleUser, "x", hidden, "message"},
		"compaction":   {`{"type":"compaction_state","id":"c","summaryText":"what was","removedCount":9}`, llms.RoleUser, "what was", store.FlagHostSummary, "compaction_state"},
		"todos":        {`{"type":"todo_state","id":"t","todos":[]}`, llms.RoleSystem, "", hidden, "todo_state"},
		"odd message":  {`{"type":"message","id":"m","message":"text"}`, llms.RoleSystem, `{"type":"message","id":"m","message":"text"}`, hidden | store.FlagUnknown, "message"},
		"unknown type": {`{"type":"telepathy","id":"x"}`, llms.RoleSystem, `{"type":"telepathy","id":"x"}`, hidden | store.FlagUnknown, "telepathy"},
	})
	const agents = `{"type":"session_start","id":"s","title":"New Session","owner":"o","version":2,"cwd":"/w","callingSessionId":"p"}` + "\n"
	if rec := read(t, agents)[0]; rec.Parent != "p" || rec.Dir != "/w" || rec.Title != "" || !rec.Mutable {
		t.Errorf("a sub-agent's session: %+v", rec)
	}
}

func read(t testing.TB, content string) []hosts.Record { return hosttest.ReadLines(t, New(), content) }

func FuzzRead(f *testing.F) {
	for _, line := range []string{
		`{"type":"message","id":"m","parentId":"l","message":{"role":"user","content":[{"type":"text","text":"hello"}]}}`,
		`{"type":"message","id":"m","message":{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"x","input":{}}]}}`,
		`{"type":"session_start","id":"s","title":1}`, `{"type":"compaction_state"}`, "{", "\x00",
	} {
		f.Add(line + "\n" + line + "\n")
	}
	f.Fuzz(func(t *testing.T, content string) { read(t, content) })
}
