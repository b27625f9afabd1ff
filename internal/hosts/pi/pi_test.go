package pi

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/hosttest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Shapes of entries that the fixtures do not show.
func TestRecords(t *testing.T) {
	const hidden, synthetic = store.FlagHidden, store.FlagSynthetic
	for name, c := range map[string]struct {
		line  string
		role  llms.Role
		shows string
		flags store.Flag
		typ   string
	}{
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
		`{"type":"message","id":"m","message":{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"toolCall","id":"c","name":"x","arguments":{}}]}}`,
		`{"type":"message","id":"m","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"image","data":"!","mimeType":1}],"isError":true}}`,
		`{"type":"session","cwd":1}`, `{"type":"compaction"}`, "{", "\x00",
	} {
		f.Add(line + "\n" + line + "\n")
	}
	f.Fuzz(func(t *testing.T, content string) { read(t, content) })
}
