package gemini

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
	hosttest.Shapes(t, func(raw string) hosts.Record { return read(t, raw+"\n")[0] }, map[string]hosttest.Shape{
		"with lcm's lines": {`{"id":"u","type":"user","content":[{"text":"as before"},{"text":"<hook_context>&lt;lcm-context source=\"lcm\"&gt;x&lt;/lcm-context&gt;</hook_context>"}]}`, llms.RoleUser, "as before", 0, "user"},
		"before a prompt":  {`{"id":"u","type":"user","content":[{"text":"<hook_context>&lt;lcm-context source=\"lcm\"&gt;x&lt;/lcm-context&gt;</hook_context>\n\nUse port 7443"}]}`, llms.RoleUser, "Use port 7443", 0, "user"},
		"another's lines":  {`{"id":"u","type":"user","content":[{"text":"as before"},{"text":"<hook_context>x</hook_context>"}]}`, llms.RoleUser, "as before\n<hook_context>x</hook_context>", 0, "user"},
		"a result with them": {`{"id":"u","type":"user","content":[{"functionResponse":{"id":"ls__1","name":"ls","response":{"output":"a\n\n<hook_context>&lt;lcm-context source=\"lcm\"&gt;x&lt;/lcm-context&gt;</hook_context>"}}}]}`,
			llms.RoleTool, "← ls: a", 0, "user"},
		"a result after them": {`{"id":"u","type":"user","content":[{"functionResponse":{"id":"ls__1","name":"ls","response":{"output":"a\n\n<hook_context>&lt;lcm-context source=\"lcm\"&gt;x&lt;/lcm-context&gt;</hook_context>b"}}}]}`,
			llms.RoleTool, "← ls: a\n\nb", 0, "user"},
		"a text":          {`{"id":"u","type":"user","content":"hello"}`, llms.RoleUser, "hello", 0, "user"},
		"a part":          {`{"id":"u","type":"user","content":{"text":"hello"}}`, llms.RoleUser, "hello", 0, "user"},
		"a list of texts": {`{"id":"u","type":"user","content":["hello","you"]}`, llms.RoleUser, "hello\nyou", 0, "user"},
		"a thought":       {`{"id":"g","type":"gemini","content":"","thoughts":[{"subject":"Tides","description":"They turn."}]}`, llms.RoleAssistant, "[reasoning] Tides\nThey turn.", 0, "gemini"},
		"with its calls":  {`{"id":"g","type":"gemini","content":"Looking.","toolCalls":[{"id":"ls__1","name":"ls","args":{"a":1},"result":[]}]}`, llms.RoleAssistant, `→ ls({"a":1})`, 0, "gemini"},
		"empty answer":    {`{"id":"g","type":"gemini","content":""}`, llms.RoleAssistant, "", hidden, "gemini"},
		"a notice":        {`{"id":"i","type":"info","content":"updated"}`, llms.RoleSystem, "updated", hidden, "info"},
		"compacted":       {`{"$set":{"messages":[{"id":"c","type":"user","content":[{"text":"<session_context>x"}]},{"id":"s","type":"user","content":[{"text":"<state_snapshot>so far"}]}]}}`, llms.RoleUser, "<state_snapshot>so far", store.FlagHostSummary, "$set/messages"},
		"taken back":      {`{"$rewindTo":"u"}`, llms.RoleSystem, "", hidden, "$rewindTo"},
		"unknown type":    {`{"id":"x","type":"telepathy"}`, llms.RoleSystem, `{"id":"x","type":"telepathy"}`, hidden | store.FlagUnknown, "telepathy"},
		"not JSON":        {`{"type":`, llms.RoleSystem, `{"type":`, hidden | store.FlagUnknown, "(damaged)"},
	})
}

// TestIDs: the two forms of an answer have ids of their own, and so have the two histories
// with one summary when they are stored. The id of a call is the one that the model knows.
func TestIDs(t *testing.T) {
	got := read(t, `{"id":"g","type":"gemini","content":"Looking."}
{"$set":{"lastUpdated":"2026-01-02T03:04:05Z"}}
{"id":"g","type":"gemini","content":"Looking.","toolCalls":[{"id":"ls__1","name":"ls","args":{}}]}
{"$set":{"messages":[{"id":"s","type":"user","content":"<state_snapshot>so far"},{"id":"g","type":"gemini","content":"ok"}]}}
{"$rewindTo":"g"}
`)
	if got[0].ID != "g" || got[2].ID == "g" || got[2].ToolCalls()[0].ID != "1" || got[3].ID != "summary:s" || !got[3].Mutable {
		t.Errorf("%q %q %+v %q", got[0].ID, got[2].ID, got[2].ToolCalls(), got[3].ID)
	}
	if !got[3].Branch || got[3].After != "g" || got[3].Before || !got[4].Branch || got[4].After != "g" || !got[4].Before {
		t.Errorf("%+v\n%+v", got[3], got[4])
	}
}

// TestFiles: the first line and a file of the project tell what the name does not.
func TestFiles(t *testing.T) {
	root := t.TempDir()
	write := func(path, content string) string {
		path = filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	head := `{"sessionId":"12345678-aaaa","projectHash":"h","startTime":"2026-01-02T03:04:05Z"}` + "\n"
	write("p/.project_root", "/work/here\n")
	write("p/chats/session-2026-01-02T03-04-12345678.jsonl", head)
	write("p/chats/session-2026-01-02T03-09-12345678.jsonl", head) // it was resumed
	write("p/chats/12345678-aaaa/sub.jsonl", head)
	var got []hosts.Transcript
	for tr, err := range New().Transcripts(t.Context(), hosts.Installation{Data: root}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, tr)
	}
	if len(got) != 2 || got[0].Session != "12345678-aaaa" || got[0].Dir != "/work/here" || got[1].Session != "12345678-aaaa/sub" || got[1].Parent != "12345678-aaaa" || got[1].Dir != "/work/here" {
		t.Errorf("%+v", got)
	}
	// A project may be called as the directory of the sessions.
	if got := in(t, write("chats/chats/session-1.jsonl", head)); len(got) != 1 || got[0].Parent != "" || got[0].Session != "12345678-aaaa" {
		t.Errorf("%+v", got)
	}
	if got := in(t, write("chats/chats/12345678-aaaa/sub.jsonl", head)); len(got) != 1 || got[0].Parent != "12345678-aaaa" {
		t.Errorf("%+v", got)
	}
	if other := write("x/other.jsonl", `{"sessionId":"s","uuid":"u","message":{"role":"user","parts":[]}}`+"\n"); len(in(t, other)) != 0 || len(in(t, write("x/copy.jsonl", head))) != 1 {
		t.Error("a file is taken for another program's")
	}
}

func in(t *testing.T, path string) []hosts.Transcript {
	found, _ := New().In(t.Context(), path) // the number of them tells
	return found
}

func read(t testing.TB, content string) []hosts.Record { return hosttest.ReadLines(t, New(), content) }

func FuzzRead(f *testing.F) {
	for _, line := range []string{
		`{"id":"g","type":"gemini","content":[{"text":"x","thought":true},"y",{"functionCall":{"id":"c","name":"y"}}],"toolCalls":[1]}`,
		`{"id":"u","type":"user","content":{"functionResponse":{"id":"c","response":{"error":"x"},"parts":[{"inlineData":{}}]}}}`,
		`{"$set":{"messages":[{"id":"s","content":"<state_snapshot>"},1]}}`, `{"$rewindTo":1}`, `{"type":"user","content":1}`, "{",
	} {
		f.Add(line + "\n" + line + "\n")
	}
	f.Fuzz(func(t *testing.T, content string) { read(t, content) })
}
