package droid

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/hosttest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Shapes of records that the fixtures do not show.
func TestRecords(t *testing.T) {
	const hidden = store.FlagHidden
	for name, c := range map[string]struct {
		line  string
		role  llms.Role
		shows string
		flags store.Flag
		typ   string
	}{
		"prompt":       {`{"type":"message","id":"m","parentId":"l","message":{"role":"user","content":[{"type":"text","text":"hello"}]}}`, llms.RoleUser, "hello", 0, "message"},
		"hook":         {`{"type":"message","id":"m","message":{"role":"user","content":[],"visibility":"user_only","hookEventName":"Stop"}}`, llms.RoleUser, "", hidden, "message"},
		"notice":       {`{"type":"message","id":"m","message":{"role":"user","content":[{"type":"text","text":"x"}],"visibility":"user_only"}}`, llms.RoleUser, "x", hidden, "message"},
		"compaction":   {`{"type":"compaction_state","id":"c","summaryText":"what was","removedCount":9}`, llms.RoleUser, "what was", store.FlagHostSummary, "compaction_state"},
		"todos":        {`{"type":"todo_state","id":"t","todos":[]}`, llms.RoleSystem, "", hidden, "todo_state"},
		"odd message":  {`{"type":"message","id":"m","message":"text"}`, llms.RoleSystem, `{"type":"message","id":"m","message":"text"}`, hidden | store.FlagUnknown, "message"},
		"unknown type": {`{"type":"telepathy","id":"x"}`, llms.RoleSystem, `{"type":"telepathy","id":"x"}`, hidden | store.FlagUnknown, "telepathy"},
	} {
		records := read(t, c.line+"\n")
		rec := records[0]
		shows := rec.Render()
		if len(rec.Parts) == 1 && rec.Parts[0].Kind == llms.PartOther {
			shows = string(rec.Parts[0].Extra)
		}
		if len(records) != 1 || rec.Role != c.role || shows != c.shows || rec.Flags != c.flags || rec.Type != c.typ {
			t.Errorf("%s: %s %q flags %b type %q, want %s %q %b %q", name, rec.Role, shows, rec.Flags, rec.Type, c.role, c.shows, c.flags, c.typ)
		}
	}
	const agents = `{"type":"session_start","id":"s","title":"New Session","owner":"o","version":2,"cwd":"/w","callingSessionId":"p"}` + "\n"
	if rec := read(t, agents)[0]; rec.Parent != "p" || rec.Dir != "/w" || rec.Title != "" || !rec.Mutable {
		t.Errorf("a sub-agent's session: %+v", rec)
	}
}

func read(t testing.TB, content string) []hosts.Record {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	records := hosttest.Read(t, New(), hosts.Transcript{Host: Name, Path: path, Session: "s"})
	hosttest.Lines(t, records, []byte(content))
	return records
}

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
