package cline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/hosttest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Shapes of messages that the fixtures do not show.
func TestRecords(t *testing.T) {
	const hidden, synthetic = store.FlagHidden, store.FlagSynthetic
	hosttest.Shapes(t, func(raw string) hosts.Record { return read(t, doc("", raw))[1] }, map[string]hosttest.Shape{
		"text":        {`{"id":"m","role":"user","content":"hello"}`, llms.RoleUser, "hello", 0, "user"},
		"prompt":      {`{"id":"m","role":"user","content":[{"type":"text","text":"<user_input mode=\"plan\">a <b>\n</user_input>"}]}`, llms.RoleUser, "a <b>\n", 0, "user"},
		"image":       {`{"id":"m","role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}`, llms.RoleUser, "[image/png 2 B]", 0, "user"},
		"results":     {`{"id":"m","role":"user","content":[{"type":"tool_result","tool_use_id":"c","name":"run_commands","content":[{"query":"a","result":"x","success":true},{"query":"b","result":"","error":"y","success":false}]}]}`, llms.RoleTool, "← error: x\ny", 0, "user"},
		"odd result":  {`{"id":"m","role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"result":{"a":1}}]}]}`, llms.RoleTool, `← [other] {"result":{"a":1}}`, 0, "user"},
		"own words":   {`{"id":"m","role":"user","content":"go on","metadata":{"displayRole":"system"}}`, llms.RoleUser, "go on", synthetic, "user"},
		"compaction":  {`{"id":"m","role":"user","content":"what was","metadata":{"kind":"compaction_summary","displayRole":"system"}}`, llms.RoleUser, "what was", store.FlagHostSummary, "user"},
		"empty":       {`{"id":"m","role":"assistant","content":[]}`, llms.RoleAssistant, "", hidden, "assistant"},
		"odd role":    {`{"id":"m","role":"ghost","content":[]}`, llms.RoleSystem, `{"id":"m","role":"ghost","content":[]}`, hidden | store.FlagUnknown, "ghost"},
		"odd content": {`{"id":"m","role":"user","content":7}`, llms.RoleSystem, `{"id":"m","role":"user","content":7}`, hidden | store.FlagUnknown, "user"},
	})
}

func doc(members string, messages ...string) string {
	return fmt.Sprintf("{\n  \"version\": 1, \"updated_at\": %q,\n  \"sessionId\": \"s\"%s,\n  \"messages\": [\n    %s\n  ]\n}", strings.Repeat("x", len(messages)), members, strings.Join(messages, ",\n    "))
}

func write(t testing.TB, content string) hosts.Transcript {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.messages.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return hosts.Transcript{Host: Name, Path: path, Session: "s"}
}

func read(t testing.TB, content string) []hosts.Record {
	t.Helper()
	return hosttest.Read(t, New(), write(t, content))
}

// The program rewrites the document: what is new is read, and after a change of what was read
// before all of it, with the prompts as branches.
func TestRewritten(t *testing.T) {
	message := func(id, role, text string) string {
		return fmt.Sprintf(`{"id": %q, "role": %q, "content": [{"type": "text", "text": %q}]}`, id, role, text)
	}
	one, two := message("1", "user", "hello"), message("2", "assistant", "hi")
	tr := write(t, doc("", one, two))
	from := hosttest.Read(t, New(), tr)[2].End
	for name, c := range map[string]struct {
		content string
		want    string // id, and for a branch the id before it
	}{
		"nothing new": {doc("", one, two), "session"},
		"more":        {doc(`, "system_prompt": "p"`, one, two, message("3", "user", "and now")), "session 3"},
		"changed":     {doc("", one, message("2", "assistant", "hi!"), message("3", "user", "and now")), "session 1< 2 3<2"},
		"went back":   {doc("", one, message("4", "user", "no")), "session 1< 4<1"},
		"shorter":     {doc("", one), "session 1<"},
	} {
		if err := os.WriteFile(tr.Path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		got := ""
		for rec, err := range New().Read(t.Context(), tr, from) {
			if err != nil {
				t.Fatal(err)
			}
			if got += " " + rec.ID; rec.Branch {
				got += "<" + rec.After
			}
		}
		if got = strings.TrimSpace(got); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A file that is no document of the program is an error or none of its transcripts.
func TestOtherFiles(t *testing.T) {
	for _, content := range []string{"", "{", "[]", `{"sessionId":"s"}`, "null"} {
		tr := write(t, content)
		for _, err := range New().Read(t.Context(), tr, hosts.Position{}) {
			if err == nil {
				t.Errorf("%q is read", content)
			}
		}
		if _, err := New().In(t.Context(), tr.Path); err == nil {
			t.Errorf("%q is a transcript", content)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(doc("", `{"id":"m","role":"user","content":[{"type":"text","text":"hello"}],"ts":1}`, `{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"c","name":"x","input":{}}]}`))
	f.Add(doc("", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"result":1},{"type":"text","text":"x"}]}]}`, "7", "7"))
	f.Add(`{"messages":[]}`)
	f.Fuzz(func(t *testing.T, content string) {
		tr := write(t, content)
		for _, err := range New().Read(t.Context(), tr, hosts.Position{}) {
			if err != nil {
				return
			}
		}
		hosttest.Read(t, New(), tr)
	})
}
