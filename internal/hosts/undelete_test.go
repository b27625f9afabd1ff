package hosts_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/record/store"
)

const (
	uuid1 = "00000000-0000-4000-8000-000000000001"
	uuid2 = "00000000-0000-4000-8000-000000000002"
)

// put writes files below the home directory.
func (b *bed) put(files map[string]string) {
	b.Helper()
	for path, content := range files {
		path = filepath.Join(b.home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// files reads the home directory.
func (b *bed) files() map[string]string {
	b.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(b.home), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(b.home, path))
		found[path] = string(content)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return found
}

// undelete writes back the only session that is lost, and says what is not as it was.
func (b *bed) undelete(dir string) hosts.Undeletion {
	b.Helper()
	all, err := b.feed.Lost(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	sessions := hosts.Resumable(all)
	if len(sessions) != 1 {
		b.Fatalf("lost: %+v", sessions)
	}
	u, err := b.feed.Undelete(b.Context(), sessions[0], all, dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range u.Files {
		var content bytes.Buffer
		if err := b.feed.Write(b.Context(), file, &content); err != nil {
			b.Fatal(err)
		}
		if int64(content.Len()) != file.Bytes {
			b.Errorf("%s has %d bytes, and %d were announced", file.Path, content.Len(), file.Bytes)
		}
		if err := os.WriteFile(file.Path, content.Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return u
}

// resumes checks that the command to go on is known of the sessions with an id alone, and whether
// their host has them.
func (b *bed) resumes(want bool) {
	b.Helper()
	commands := map[string]string{"claude": "claude --resume ", "codex": "codex resume ", "pi": "pi --session "}
	all, err := b.db.Conversations(b.Context(), store.ConversationQuery{})
	if err != nil || len(all) == 0 {
		b.Fatalf("%d conversations, %v", len(all), err)
	}
	for _, c := range all {
		wanted := ""
		if host, session, _ := strings.Cut(c.Key, ":"); session == uuid1 {
			wanted = commands[host] + uuid1
		}
		got, there, err := b.feed.Resume(b.Context(), c)
		if err != nil || got != wanted || there != (want && wanted != "") {
			b.Errorf("%s: %q, %v, %v", c.Key, got, there, err)
		}
	}
}

// No command is made of an id with other characters, of the session of a sub-agent, or of one that
// was imported from elsewhere.
func TestNoCommandToResume(t *testing.T) {
	const project = ".claude/projects/-nowhere-project/"
	b := newBed(t)
	b.put(map[string]string{
		project + "x; reboot.jsonl":             line("user", "u1", "null", "one"),
		project + uuid1 + ".jsonl":              line("user", "u2", "null", "two"),
		project + uuid1 + "/subagents/a1.jsonl": line("user", "u3", "null", "three"),
		"elsewhere/p/" + uuid2 + ".jsonl":       line("user", "u4", "null", "four"),
	})
	b.importAll()
	if _, err := b.feed.All(t.Context(), hosts.Filter{Path: filepath.Join(b.home, "elsewhere")}, nil); err != nil {
		t.Fatal(err)
	}
	all, err := b.db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range all {
		if got[c.Key], _, err = b.feed.Resume(t.Context(), c); err != nil {
			t.Error(err)
		}
		c.Parent = 1
		if command, _, _ := b.feed.Resume(t.Context(), c); command != "" {
			t.Errorf("of a sub-agent: %s", command)
		}
	}
	want := map[string]string{"claude:" + uuid1: "claude --resume " + uuid1, "claude:" + uuid1 + "/a1": "", "claude:" + uuid2: "", "claude:x; reboot": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func (b *bed) importAll() []hosts.Summary {
	b.Helper()
	sums, err := b.feed.All(b.Context(), hosts.Filter{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	return sums
}

// What an agent has deleted comes back byte for byte, and the next import finds nothing new.
func TestUndelete(t *testing.T) {
	const project, rollouts = ".claude/projects/-nowhere-project/", ".codex/sessions/2026/01/02/rollout-2026-01-02T"
	talk := line("user", "u1", "null", "hello, see tool-results/long.txt") + line("assistant", "u2", "u1", "hi")
	pi := `{"type":"session","version":3,"id":"` + uuid1 + `","timestamp":"2026-01-02T03:04:05.006Z","cwd":"/nowhere/project"}` + "\n" +
		`{"type":"message","id":"m","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"hello"}}` + "\n"
	for name, files := range map[string]map[string]string{
		"claude":                    {project + uuid1 + ".jsonl": talk},
		"claude, no last line feed": {project + uuid1 + ".jsonl": strings.TrimSuffix(talk, "\n")},
		"claude, with CRLF":         {project + uuid1 + ".jsonl": strings.ReplaceAll(talk, "\n", "\r\n")},
		"claude, with a sub-agent": {
			project + uuid1 + ".jsonl":                          talk,
			project + uuid1 + "/tool-results/long.txt":          "long\noutput",
			project + uuid1 + "/subagents/agent-a1.jsonl":       line("user", "v1", "null", "look"),
			project + uuid1 + "/subagents/agent-a1.meta.json":   `{"agentType":"Explore"}`,
			project + uuid1 + "/subagents/agent-a2.jsonl":       strings.TrimSuffix(line("user", "v2", "null", "look again"), "\n"),
			".claude/projects/-nowhere-other/" + uuid2 + ".txt": "no transcript",
		},
		"codex": {rollouts + "03-04-05-" + uuid1 + ".jsonl": item(0, "user", "one") + item(1, "assistant", "two")},
		"codex, after going back": {
			rollouts + "03-04-05-" + uuid1 + ".jsonl":                 item(0, "user", "one") + item(1, "assistant", "two"),
			rollouts + "04-00-00-" + uuid1 + "_" + uuid2 + ".jsonl":   history(uuid1, 1) + item(2, "assistant", "another two"),
			".codex/archived_sessions/rollout-2026-01-02T05-00-00-no": "no transcript",
		},
		"pi":                    {".pi/agent/sessions/--nowhere-project--/2026-01-02T03-04-05-006Z_" + uuid1 + ".jsonl": pi},
		"pi, no last line feed": {".pi/agent/sessions/--nowhere-project--/2026-01-02T03-04-05-006Z_" + uuid1 + ".jsonl": strings.TrimSuffix(pi, "\n")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TZ", "UTC")
			b := newBed(t)
			b.put(files)
			b.importAll()
			if all, err := b.feed.Lost(t.Context()); err != nil || len(all) != 0 {
				t.Errorf("lost before anything is deleted: %v, %v", all, err)
			}
			b.resumes(true)
			for path := range files {
				if strings.HasSuffix(path, ".jsonl") || strings.Contains(path, uuid1) {
					if err := os.Remove(filepath.Join(b.home, path)); err != nil {
						t.Fatal(err)
					}
				}
			}
			n := 0
			for _, sum := range b.importAll() {
				n += sum.Deleted
			}
			if n != 1 {
				t.Errorf("the import counts %d deleted sessions", n)
			}
			b.resumes(false)
			if u := b.undelete("/nowhere/project"); len(u.Changed)+len(u.Left) > 0 {
				t.Errorf("%+v", u)
			}
			if diff := cmp.Diff(files, b.files()); diff != "" {
				t.Error(diff)
			}
			for _, sum := range b.importAll() {
				if sum.New+sum.Deleted+len(sum.Failures) > 0 {
					t.Errorf("the import after it: %+v", sum)
				}
			}
		})
	}
}

// A file that is there stays, the transcript of a session comes last, and a session goes to the
// directory where it goes on.
func TestUndeleteElsewhere(t *testing.T) {
	const was, is = ".claude/projects/-nowhere-project/" + uuid1, ".claude/projects/-else-where/" + uuid1
	b := newBed(t)
	b.put(map[string]string{
		was + ".jsonl":                    line("user", "u1", "null", "hello, see tool-results/long.txt"),
		was + "/tool-results/long.txt":    "long output",
		was + "/subagents/agent-a1.jsonl": line("user", "v1", "null", "look"),
	})
	before := b.files()
	b.importAll()
	if err := os.RemoveAll(filepath.Join(b.home, ".claude")); err != nil {
		t.Fatal(err)
	}
	b.put(map[string]string{is + "/tool-results/long.txt": "mine"})
	u := b.undelete("/else/where")
	if len(u.Left) != 1 || u.Files[len(u.Files)-1].Path != filepath.Join(b.home, is+".jsonl") {
		t.Errorf("%+v", u)
	}
	want := map[string]string{is + "/tool-results/long.txt": "mine"}
	for path, content := range maps.All(before) {
		if !strings.HasSuffix(path, ".txt") {
			want[strings.Replace(path, was, is, 1)] = content
		}
	}
	if diff := cmp.Diff(want, b.files()); diff != "" {
		t.Error(diff)
	}
	for _, sum := range b.importAll() {
		if sum.New > 0 {
			t.Errorf("%+v", sum)
		}
	}
}

// What a rewritten file and a torn line make of a transcript is said.
func TestUndeleteSaysWhatIsNotAsItWas(t *testing.T) {
	talk := line("user", "u1", "null", "hello")
	for name, c := range map[string]struct {
		content []string
		changed bool
	}{
		"whole":                 {[]string{talk}, false},
		"grown by a line feed":  {[]string{strings.TrimSuffix(talk, "\n"), talk}, false},
		"a torn line":           {[]string{talk + `{"type":`}, true},
		"an empty line":         {[]string{"\n" + talk}, true},
		"rewritten and shorter": {[]string{talk + line("assistant", "u2", "u1", "hi"), line("user", "u3", "null", "hi")}, true},
	} {
		b := newBed(t)
		path := ".claude/projects/-nowhere-project/" + uuid1 + ".jsonl"
		for _, content := range c.content {
			b.put(map[string]string{path: content})
			b.importAll()
		}
		if err := os.Remove(filepath.Join(b.home, path)); err != nil {
			t.Fatal(err)
		}
		if u := b.undelete("/nowhere/project"); (len(u.Changed) > 0) != c.changed {
			t.Errorf("%s: %q", name, u.Changed)
		}
	}
}

// Sessions that cannot be looked for, and those that were imported from elsewhere, are not lost.
func TestNotLost(t *testing.T) {
	b := newBed(t)
	copied := filepath.Join(t.TempDir(), uuid2+".jsonl")
	if err := os.WriteFile(copied, []byte(line("user", "u1", "null", "hello")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.feed.All(t.Context(), hosts.Filter{Path: copied}, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(copied); err != nil {
		t.Fatal(err)
	}
	b.put(map[string]string{".claude/projects/-nowhere-project/" + uuid1 + ".jsonl": line("user", "u1", "null", "hello")})
	b.importAll()
	projects := filepath.Join(b.home, ".claude", "projects")
	if err := os.Rename(projects, projects+" away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(projects, nil, 0o600); err != nil { // it cannot be listed
		t.Fatal(err)
	}
	if all, err := b.feed.Lost(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := os.Remove(projects); err != nil {
		t.Fatal(err)
	}
	all, err := b.feed.Lost(t.Context())
	if err != nil || len(all) != 1 || all[0].Session != uuid1 {
		t.Errorf("%+v, %v", all, err)
	}
}
