package codex

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/hosttest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

func TestRecords(t *testing.T) {
	const (
		hidden    = store.FlagHidden
		synthetic = store.FlagSynthetic
		unknown   = store.FlagHidden | store.FlagUnknown
	)
	item := func(payload string) string {
		return `{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":` + payload + `}`
	}
	event := func(payload string) string {
		return `{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":` + payload + `}`
	}
	hosttest.Shapes(t, func(raw string) hosts.Record { return record([]byte(raw), "", file{}) }, map[string]hosttest.Shape{
		"prompt":        {item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}`), llms.RoleUser, "hello", 0, "response_item/message"},
		"environment":   {item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>"}]}`), llms.RoleUser, "<environment_context>", synthetic, "response_item/message"},
		"developer":     {item(`{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]}`), llms.RoleSystem, "rules", synthetic, "response_item/message"},
		"reasoning":     {item(`{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"content":null,"encrypted_content":"x"}`), llms.RoleAssistant, "[reasoning] hm", 0, "response_item/reasoning"},
		"sealed":        {item(`{"type":"reasoning","summary":[],"encrypted_content":null}`), llms.RoleAssistant, "", hidden, "response_item/reasoning"},
		"call":          {item(`{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","call_id":"c"}`), llms.RoleAssistant, `→ exec_command({"cmd":"ls"})`, 0, "response_item/function_call"},
		"MCP call":      {item(`{"type":"function_call","name":"lcm_grep","namespace":"mcp__lcm","arguments":"{}","call_id":"c"}`), llms.RoleAssistant, `→ mcp__lcm__lcm_grep({})`, 0, "response_item/function_call"},
		"custom call":   {item(`{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch","call_id":"c"}`), llms.RoleAssistant, "→ apply_patch(*** Begin Patch)", 0, "response_item/custom_tool_call"},
		"shell call":    {item(`{"type":"local_shell_call","call_id":"c","status":"completed","action":{"command":["ls"]}}`), llms.RoleAssistant, `→ local_shell({"command":["ls"]})`, 0, "response_item/local_shell_call"},
		"output":        {item(`{"type":"function_call_output","call_id":"c","output":"out"}`), llms.RoleTool, "← out", 0, "response_item/function_call_output"},
		"output, items": {item(`{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"out"}]}`), llms.RoleTool, "← out", 0, "response_item/function_call_output"},
		"output, old":   {item(`{"type":"function_call_output","call_id":"c","output":{"content":"out","success":false}}`), llms.RoleTool, "← error: out", 0, "response_item/function_call_output"},
		"image":         {item(`{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,aGk="}]}`), llms.RoleUser, "[image/png 2 B]", 0, "response_item/message"},
		"compacted":     {`{"type":"compacted","payload":{"message":"what was","replacement_history":[]}}`, llms.RoleUser, "what was", store.FlagHostSummary, "compacted"},
		"repeated":      {event(`{"type":"agent_message","message":"hi"}`), llms.RoleSystem, "", hidden, "event_msg/agent_message"},
		"error":         {event(`{"type":"error","message":"no"}`), llms.RoleSystem, "no", hidden, "event_msg/error"},
		"meta":          {`{"type":"session_meta","payload":{"id":"x","cwd":"/w"}}`, llms.RoleSystem, "", hidden, "session_meta"},
		"context":       {`{"type":"turn_context","payload":{"cwd":"/w"}}`, llms.RoleSystem, "", hidden, "turn_context"},
		"old item":      {`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}`, llms.RoleAssistant, "hi", 0, "message"},
		"old meta":      {`{"id":"x","timestamp":"2025-05-07T17:24:21.597Z","instructions":null}`, llms.RoleSystem, "", hidden, "(none)"},
		"new item":      {item(`{"type":"telepathy"}`), llms.RoleSystem, item(`{"type":"telepathy"}`), unknown, "response_item/telepathy"},
		"new event":     {event(`{"type":"telepathy"}`), llms.RoleSystem, event(`{"type":"telepathy"}`), unknown, "event_msg/telepathy"},
		"new type":      {`{"type":"telepathy","payload":{}}`, llms.RoleSystem, `{"type":"telepathy","payload":{}}`, unknown, "telepathy"},
		"not JSON":      {`{"type":`, llms.RoleSystem, `{"type":`, unknown, "(damaged)"},
	})
}

// told is the session data of a record.
type told struct {
	Dir, Parent, Agent string
}

func TestWhatRecordsTell(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want told
	}{
		"directory": {`{"ordinal":0,"type":"session_meta","payload":{"cwd":"/w"}}`, told{Dir: "/w"}},
		"parent":    {`{"type":"session_meta","payload":{"cwd":"/w","parent_thread_id":"p","agent_nickname":"Ada","agent_role":"explorer"}}`, told{Dir: "/w", Parent: "p", Agent: "Ada"}},
		"spawned":   {`{"type":"session_meta","payload":{"cwd":"/w","source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","depth":1}}}}}`, told{Dir: "/w", Parent: "p"}},
	} {
		rec := record([]byte(c.line), "", file{})
		got := told{rec.Dir, rec.Parent, rec.Agent}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTranscripts(t *testing.T) {
	home := t.TempDir()
	const name = "rollout-2026-01-02T03-04-05-"
	for _, path := range []string{
		"sessions/2026/01/02/" + name + "a.jsonl", "sessions/2026/01/02/" + name + "a.jsonl.zst", "sessions/2026/01/02/" + name + "b.jsonl.zst",
		"archived_sessions/" + name + "c.jsonl", "sessions/2026/01/02/notes.jsonl", "history.jsonl",
	} {
		path = filepath.Join(home, ".codex", path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := Host{}
	var got []string
	for tr, err := range h.Transcripts(t.Context(), h.Find(hosts.Machine{Home: home})) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, tr.Session+filepath.Ext(tr.Path))
	}
	if diff := cmp.Diff([]string{"a.jsonl", "b.zst", "c.jsonl"}, got); diff != "" {
		t.Error(diff)
	}
	elsewhere := h.Find(hosts.Machine{Home: home, Getenv: func(string) string { return "/nowhere" }})
	if elsewhere.Present || elsewhere.Data != "/nowhere" {
		t.Errorf("%+v", elsewhere)
	}
}

func FuzzRead(f *testing.F) {
	for _, line := range []string{
		`{"timestamp":"2026-01-01T00:00:00Z","ordinal":1,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}}`,
		`{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}`, `{"type":"session_meta","payload":{"source":{"subagent":{}}}}`,
		`{"type":"response_item","payload":{"type":"function_call_output","output":{"content":[1]}}}`, `{"type":"message","role":"x"}`, `{"payload":[]}`, "{",
	} {
		f.Add([]byte(line + "\n" + line + "\n"))
	}
	path := filepath.Join(f.TempDir(), "rollout-2026-01-02T03-04-05-a.jsonl")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		hosttest.Lines(t, hosttest.Read(t, Host{}, hosts.Transcript{Host: Name, Path: path, Session: "a"}), content)
	})
}
