package claude

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/hosttest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// one reads a single line.
func one(line string) hosts.Record {
	r := &reader{t: hosts.Transcript{Session: "s"}, session: "s"}
	return r.record([]byte(line))
}

func TestRecords(t *testing.T) {
	const (
		hidden    = store.FlagHidden
		synthetic = store.FlagSynthetic
	)
	hosttest.Shapes(t, one, map[string]hosttest.Shape{
		"prompt":        {`{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"hello"}}`, llms.RoleUser, "hello", 0, "user"},
		"answer":        {`{"type":"assistant","uuid":"u","message":{"role":"assistant","id":"msg_1","content":[{"type":"text","text":"hi"}]}}`, llms.RoleAssistant, "hi", 0, "assistant"},
		"result":        {`{"type":"user","uuid":"u","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"out"}]},"toolUseResult":{"stdout":"out"}}`, llms.RoleTool, "← out", 0, "user"},
		"reminder":      {`{"type":"user","uuid":"u","isMeta":true,"message":{"role":"user","content":"x"}}`, llms.RoleUser, "x", synthetic, "user"},
		"command":       {`{"type":"user","uuid":"u","message":{"role":"user","content":"<command-name>/compact</command-name>"}}`, llms.RoleUser, "<command-name>/compact</command-name>", synthetic, "user"},
		"a quotation":   {`{"type":"assistant","uuid":"u","message":{"role":"assistant","content":[{"type":"text","text":"<command-name>/compact"}]}}`, llms.RoleAssistant, "<command-name>/compact", 0, "assistant"},
		"empty":         {`{"type":"user","uuid":"u","message":{"role":"user","content":[]}}`, llms.RoleUser, "", hidden, "user"},
		"made up":       {`{"type":"assistant","uuid":"u","message":{"role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"No response"}]}}`, llms.RoleAssistant, "No response", synthetic, "assistant"},
		"API error":     {`{"type":"assistant","uuid":"u","isApiErrorMessage":true,"message":{"role":"assistant","content":[{"type":"text","text":"API Error"}]}}`, llms.RoleAssistant, "API Error", synthetic, "assistant"},
		"summary":       {`{"type":"user","uuid":"u","isCompactSummary":true,"message":{"role":"user","content":"what was"}}`, llms.RoleUser, "what was", store.FlagHostSummary, "user"},
		"old summary":   {`{"type":"summary","summary":"what was","leafUuid":"x"}`, llms.RoleSystem, "what was", store.FlagHostSummary | hidden, "summary"},
		"side chain":    {`{"type":"user","uuid":"u","isSidechain":true,"message":{"role":"user","content":"x"}}`, llms.RoleUser, "x", hidden, "user"},
		"brought":       {`{"type":"user","uuid":"u","sessionId":"another","message":{"role":"user","content":"x"}}`, llms.RoleUser, "x", store.FlagDuplicate, "user"},
		"system":        {`{"type":"system","subtype":"informational","uuid":"u","content":"note"}`, llms.RoleSystem, "note", hidden, "system/informational"},
		"boundary":      {`{"type":"system","subtype":"compact_boundary","uuid":"u","logicalParentUuid":"x"}`, llms.RoleSystem, "", hidden, "system/compact_boundary"},
		"bookkeeping":   {`{"type":"file-history-snapshot","messageId":"m","snapshot":{}}`, llms.RoleSystem, "", hidden, "file-history-snapshot"},
		"typed ahead":   {`{"type":"attachment","uuid":"u","attachment":{"type":"queued_command","prompt":"wait"}}`, llms.RoleUser, "wait", 0, "attachment/queued_command"},
		"request":       {`{"type":"api-request-shape","sessionId":"s","shape":{"system":"x"}}`, llms.RoleSystem, "", hidden, "api-request-shape"},
		"its prompt":    {`{"type":"attachment","uuid":"u","attachment":{"type":"prompt_snapshot","systemPrompt":["x"]}}`, llms.RoleSystem, "", hidden, "attachment/prompt_snapshot"},
		"listing":       {`{"type":"attachment","uuid":"u","attachment":{"type":"skill_listing","content":"x"}}`, llms.RoleSystem, "", hidden, "attachment/skill_listing"},
		"unknown type":  {`{"type":"telepathy","thought":"x"}`, llms.RoleSystem, `{"type":"telepathy","thought":"x"}`, hidden | store.FlagUnknown, "telepathy"},
		"odd message":   {`{"type":"user","uuid":"u","message":"text"}`, llms.RoleSystem, `{"type":"user","uuid":"u","message":"text"}`, hidden | store.FlagUnknown, "user"},
		"no type":       {`{}`, llms.RoleSystem, "{}", hidden | store.FlagUnknown, "(none)"},
		"not an object": {`[1]`, llms.RoleSystem, "[1]", hidden | store.FlagUnknown, "(none)"},
		"not JSON":      {`{"type":`, llms.RoleSystem, `{"type":`, hidden | store.FlagUnknown, "(damaged)"},
	})
}

func TestSpilledOutputIsKept(t *testing.T) {
	dir := t.TempDir()
	spill := filepath.Join(dir, "s", "tool-results", "b1.txt")
	if err := os.MkdirAll(filepath.Dir(spill), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(spill, []byte("all of the output"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(dir, "secret.txt")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s.jsonl")
	lines := `{"type":"user","uuid":"u1","sessionId":"s","message":{"role":"user","content":"see /x/s/tool-results/b1.txt and tool-results/../../secret.txt, tool-results/gone.txt"}}` + "\n"
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := (Host{}).In(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for rec, err := range (Host{}).Read(t.Context(), found[0], hosts.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rec.ID)
		if hosts.IsAside(rec.ID) && (rec.PlainText() != "all of the output" || rec.Flags != store.FlagHidden) {
			t.Errorf("%q %b", rec.PlainText(), rec.Flags)
		}
	}
	if diff := cmp.Diff([]string{"aside:tool-results/b1.txt", "u1"}, got); diff != "" {
		t.Error(diff)
	}
}

// A prompt that follows the last record is no branch, whatever lies between that no model sees:
// records of the host move the end of the session, those of a side chain do not.
func TestBranches(t *testing.T) {
	r := &reader{t: hosts.Transcript{Session: "s"}, session: "s"}
	for _, c := range []struct {
		line   string
		branch bool
	}{
		{`{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"one"}}`, false},
		{`{"type":"user","uuid":"s1","parentUuid":null,"sessionId":"s","isSidechain":true,"message":{"role":"user","content":"aside"}}`, false},
		{`{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"s","message":{"role":"user","content":"two"}}`, false},
		{`{"type":"system","subtype":"informational","uuid":"h1","parentUuid":"u2","sessionId":"s","content":"note"}`, false},
		{`{"type":"user","uuid":"u3","parentUuid":"h1","sessionId":"s","message":{"role":"user","content":"three"}}`, false},
		{`{"type":"user","uuid":"u4","parentUuid":"h1","sessionId":"s","message":{"role":"user","content":"three, again"}}`, true},
		{`{"type":"user","uuid":"u5","sessionId":"s","message":{"role":"user","content":"it names no parent"}}`, false},
		{`{"type":"user","uuid":"u6","parentUuid":"u1","sessionId":"s","isCompactSummary":true,"message":{"role":"user","content":"what was"}}`, false},
		{`{"type":"user","uuid":"r1","parentUuid":"u1","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"out"}]}}`, false},
		{`{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}`, false},
		{`{"type":"attachment","uuid":"t1","parentUuid":"u1","sessionId":"s","attachment":{"type":"queued_command","prompt":"wait"}}`, false},
		{`{"type":"user","uuid":"s2","parentUuid":"u1","sessionId":"s","isSidechain":true,"message":{"role":"user","content":"aside"}}`, false},
		{`{"type":"summary","summary":"it has no uuid","leafUuid":"u1"}`, false},
		{`{"type":"user","uuid":"u7","parentUuid":"t1","sessionId":"s","message":{"role":"user","content":"four"}}`, false},
	} {
		if rec := r.record([]byte(c.line)); rec.Branch != c.branch {
			t.Errorf("%s: a branch is %v after %q", c.line, rec.Branch, rec.After)
		}
	}
}

// The first prompt of a session that continues another one names a parent that is not here: it
// is no branch.
func TestFirstPromptIsNoBranch(t *testing.T) {
	rec := one(`{"type":"user","uuid":"u9","parentUuid":"elsewhere","sessionId":"s","message":{"role":"user","content":"go on"}}`)
	if rec.Branch {
		t.Errorf("the first prompt branches off %q", rec.After)
	}
}

// The first prompt of a file that was written anew is no branch of what the file held before.
func TestFileThatWasWrittenAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	read := func(content string, from hosts.Position) (last hosts.Record) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for rec, err := range (Host{}).Read(t.Context(), hosts.Transcript{Path: path, Session: "s"}, from) {
			if err != nil {
				t.Fatal(err)
			}
			last = rec
		}
		return last
	}
	old := read(`{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"one"}}`+"\n", hosts.Position{})
	rec := read(`{"type":"user","uuid":"u2","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"something else"}}`+"\n", old.End)
	if rec.Branch || rec.PlainText() != "something else" {
		t.Errorf("%q: a branch is %v", rec.PlainText(), rec.Branch)
	}
}

// The records of a sub-agent's file have the session id of its parent, and are no copies. Only the
// sub-agent's own say whose it is.
func TestSubagentsAreNoCopies(t *testing.T) {
	for fields, parent := range map[string]string{`"isSidechain":true,"agentId":"a1",`: "s", `"isSidechain":true,`: "", `"agentId":"a1",`: ""} {
		r := &reader{t: hosts.Transcript{Session: subagent + "a1"}, session: subagent + "a1"}
		rec := r.record([]byte(`{"type":"user","uuid":"u","sessionId":"s",` + fields + `"message":{"role":"user","content":"look"}}`))
		if rec.Flags != 0 || rec.Parent != parent {
			t.Errorf("%s: flags %b, parent %q", fields, rec.Flags, rec.Parent)
		}
	}
}

// The transcripts of a home are the files of sessions, and those of their sub-agents, with their sizes;
// what cannot be read is named, and a caller that has enough gets no more.
func TestTranscripts(t *testing.T) {
	m := machine(t, map[string]string{
		".claude/projects/p/s1.jsonl": "12", ".claude/projects/p/s1/subagents/agent-a.jsonl": "3", ".claude/projects/p/s1/subagents/agent-a.meta.json": "{}",
		".claude/projects/p/s1/notes.jsonl": "", ".claude/projects/p/s2.jsonl": "", ".claude/projects/p/memory.md": "", ".claude/projects/p/dir.jsonl/x": "",
		".claude/projects/stray.jsonl": "", ".claude/projects/q/s3.jsonl": "", ".claude/projects/r/s4.jsonl": "",
	}, nil)
	in := Host{}.Find(m)
	outside := machine(t, map[string]string{"subagents/agent-x.jsonl": ""}, nil).Home
	for _, link := range []string{"p/s2", "pl"} {
		if err := os.Symlink(outside, filepath.Join(in.Data, link)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"cannot read p/dir.jsonl", "s1  2", "s1/agent-a s1 1", "s2  0", "cannot read p/s2/subagents", "cannot read pl", "s3  0", "s4  0"}
	for n := range want {
		var got []string
		for tr, err := range (Host{}).Transcripts(t.Context(), in) {
			line := fmt.Sprintf("%s %s %d", tr.Session, tr.Parent, tr.Size)
			if err != nil {
				path, _ := filepath.Rel(in.Data, tr.Path)
				line = "cannot read " + path
			}
			if got = append(got, line); len(got) > n {
				break
			}
		}
		if diff := cmp.Diff(want[:n+1], got); diff != "" {
			t.Error(diff)
		}
	}
}

// A sub-agent's transcript names its session, and begins with what the session said of it; a later reading
// does not repeat that.
func TestSubagentIsDescribed(t *testing.T) {
	const line = `{"type":"user","uuid":"u1","sessionId":"s","isSidechain":true,"agentId":"a","message":{"role":"user","content":"look at tool-results/b1.txt"}}` + "\n"
	m := machine(t, map[string]string{
		"p/s/subagents/agent-a.jsonl": line, "p/s/subagents/agent-a.meta.json": `{"agentType":"Explore","description":"Find it"}`,
		"p/s/tool-results/b1.txt": "output", "p/agent-b.jsonl": line, "p/s.jsonl": line,
	}, nil)
	for path, want := range map[string]string{
		"p/s/subagents/agent-a.jsonl": "s: aside:agent-a.meta.json Explore/Find it, aside:tool-results/b1.txt /, u1 /",
		"p/agent-b.jsonl":             ": u1 / of s",
		"p/s.jsonl":                   ": aside:tool-results/b1.txt /, u1 /",
	} {
		found, err := (Host{}).In(t.Context(), filepath.Join(m.Home, path))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, rec := range hosttest.Read(t, Host{}, found[0]) {
			name := rec.ID + " " + rec.Agent + "/" + rec.Title
			if rec.Parent != "" {
				name += " of " + rec.Parent
			}
			got = append(got, name)
		}
		if got := found[0].Parent + ": " + strings.Join(got, ", "); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// A file of output ends where the line before its record does: a reader that stops between the
// two reads the record again.
func TestSpilledOutputComesBeforeItsRecord(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "s", spillDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "s", spillDir, "b1.txt"), []byte("output"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := `{"type":"user","uuid":"u1","sessionId":"s","message":{"role":"user","content":"run"}}` + "\n"
	path := filepath.Join(dir, "s.jsonl")
	if err := os.WriteFile(path, []byte(first+`{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"s","message":{"role":"user","content":"see tool-results/b1.txt"}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	transcript := hosts.Transcript{Host: Name, Path: path, Session: "s"}
	for rec, err := range (Host{}).Read(t.Context(), transcript, hosts.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		if !hosts.IsAside(rec.ID) {
			continue
		}
		var rest []string
		for again, err := range (Host{}).Read(t.Context(), transcript, rec.End) {
			if err != nil {
				t.Fatal(err)
			}
			rest = append(rest, again.ID)
		}
		if diff := cmp.Diff([]string{rec.ID, "u2"}, rest); diff != "" {
			t.Error(diff)
		}
	}
}

// A record brings as many files as it may have, and no more.
func TestSpilledFilesHaveABound(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	spill := filepath.Join(dir, "s", spillDir)
	if err := os.MkdirAll(spill, 0o700); err != nil {
		t.Fatal(err)
	}
	raw := "{"
	for i := range maxSpilled + 1 {
		name := fmt.Sprintf("b%d.txt", i)
		if err := os.WriteFile(filepath.Join(spill, name), []byte("output"), 0o600); err != nil {
			t.Fatal(err)
		}
		raw += " " + spillDir + "/" + name
	}
	r := &reader{t: hosts.Transcript{Session: "s", Path: path}, session: "s"}
	if got := r.spilled([]byte(raw)); len(got) != maxSpilled {
		t.Errorf("%d files were read, want %d", len(got), maxSpilled)
	}
}

func FuzzRead(f *testing.F) {
	for _, line := range []string{
		`{"type":"user","uuid":"u","parentUuid":null,"message":{"role":"user","content":"hello"}}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"x","input":{}}]}}`,
		`{"type":"attachment","attachment":{"type":"queued_command","prompt":[{"type":"image"}]}}`,
		`{"type":"system","content":1,"timestamp":[]}`, "tool-results/x.txt", "{", "\x00",
	} {
		f.Add([]byte(line + "\n" + line + "\n"))
	}
	path := filepath.Join(f.TempDir(), "s.jsonl")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		hosttest.Lines(t, hosttest.Read(t, Host{}, hosts.Transcript{Host: Name, Path: path, Session: "s"}), content)
	})
}

// TestSniff: a transcript is recognised whatever its first lines are.
func TestSniff(t *testing.T) {
	const prompt = `{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"hello"}}` + "\n"
	for name, c := range map[string]struct {
		content string
		want    bool
	}{
		"a prompt":            {prompt, true},
		"summaries first":     {strings.Repeat(`{"type":"summary","summary":"what was","leafUuid":"x"}`+"\n", 30) + prompt, true},
		"a damaged beginning": {"\x00\x00\x00\n" + prompt, true},
		"another's lines":     {strings.Repeat(`{"role":"user","content":"hello"}`+"\n", 300) + prompt, false},
		"the last line":       {strings.Repeat("{}\n", sniffed-1) + prompt, true},
		"one line too late":   {strings.Repeat("{}\n", sniffed) + prompt, false},
		"nothing":             {"", false},
		"a parent":            {`{"type":"user","uuid":"u","parentUuid":null}`, true},
		"Qwen's lines":        {`{"uuid":"u","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"hello"}]}}` + "\n" + prompt, false},
		"no parent":           {`{"type":"user","uuid":"u"}`, false},
	} {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := sniff(t.Context(), path); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if found, err := (Host{}).In(t.Context(), path); len(found) == 1 != c.want || errors.Is(err, hosts.ErrNoTranscript) == c.want {
			t.Errorf("%s: found %v, %v", name, found, err)
		}
	}
	m := machine(t, map[string]string{"s.txt": prompt}, nil)
	for _, file := range []string{"s.txt", "missing.jsonl"} {
		if _, err := (Host{}).In(t.Context(), filepath.Join(m.Home, file)); !errors.Is(err, hosts.ErrNoTranscript) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
