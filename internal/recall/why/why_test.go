package why_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/recall/why"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// work is a work tree with a record of the sessions in it.
type work struct {
	*testing.T
	dir     string
	db      *sqlite.DB
	session *lcm.Session
	at      time.Time
}

func newWork(t *testing.T) *work {
	w := &work{T: t, dir: t.TempDir(), at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	w.git("init", "-q")
	var err error
	if w.db, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Relaxed: true}); err != nil {
		t.Fatal(err)
	}
	engine, err := lcm.New(w.db, lcm.WithoutBackground(), lcm.WithPrivacy(record.Privacy{Redact: record.RedactSearch}))
	if err != nil {
		t.Fatal(err)
	}
	here, err := project.Of(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	w.session = engine.Session("s", lcm.WithProject(here))
	t.Cleanup(func() { w.db.Close() })
	return w
}

func (w *work) git(args ...string) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), "git", append([]string{"-C", w.dir, "-c", "user.name=ada", "-c", "user.email=ada@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+w.at.Format(time.RFC3339), "GIT_AUTHOR_DATE="+w.at.Format(time.RFC3339))
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// say appends a message a minute after the one before.
func (w *work) say(m llms.Message) {
	w.Helper()
	w.at = w.at.Add(time.Minute)
	m.Time = w.at
	if err := w.session.Append(w.Context(), m); err != nil {
		w.Fatal(err)
	}
}

func (w *work) prompt(text string) { w.say(llms.User(text)) }

// change has the agent call a tool, which fails or not.
func (w *work) change(id, tool string, failed bool, args map[string]any) {
	w.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		w.Fatal(err)
	}
	w.say(llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: id, Name: tool, Arguments: string(raw)}}}})
	w.say(llms.Message{Role: llms.RoleTool, Parts: []llms.Part{{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: id, IsError: failed}}}})
}

func (w *work) write(text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, "a.go"), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// ask returns the prompt behind a line, or the note.
func (w *work) ask(line int) string {
	w.Helper()
	a, err := why.Ask(w.Context(), w.db, w.dir, "a.go", line)
	if err != nil {
		w.Fatal(err)
	}
	if len(a.Origins) == 0 {
		return a.Note
	}
	return a.Origins[0].Prompt
}

func edit(old, text string) map[string]any {
	return map[string]any{"file_path": "/elsewhere/a.go", "old_string": old, "new_string": text}
}

func TestAsk(t *testing.T) {
	w := newWork(t)
	const first = "package a\n\nvar written = before()\n"
	w.write(first)
	w.git("add", "a.go")
	w.git("commit", "-qm", "first")
	w.at = w.at.Add(time.Hour)
	w.prompt("make it count")
	w.change("c1", "Edit", false, edit("var written", "var counted = one()\nvar written"))
	w.prompt("try it twice")
	w.change("c2", "Edit", true, edit("nothing", "var counted = one()\nvar written"))
	w.write("package a\n\nvar counted = one()\nvar written = before()\nvar typed = byHand()\n")
	w.git("commit", "-qam", "count")
	w.at = w.at.Add(time.Hour)
	w.prompt("say it in a patch")
	w.change("c3", "apply_patch", false, map[string]any{"input": "*** Begin Patch\n*** Update File: a.go\n@@\n var written = before()\n+var patched = true\n*** End Patch"})
	// The same line again, after the commit that has the first.
	w.change("c4", "Edit", false, edit("x", "var counted = one()\nvar written = before()"))
	w.write("package a\n\n\tvar  counted = one()\nvar written = before()\nvar patched = true\nvar typed = byHand()\n")
	w.git("commit", "-qam", "patch")
	for line, want := range map[int]string{
		3: "make it count", // formatted anew in the last commit
		4: "before the record began",
		5: "say it in a patch",
		6: "surely brought this line",
		2: "the line is empty",
	} {
		if got := w.ask(line); !strings.Contains(got, want) {
			t.Errorf("line %d: %q, want %q", line, got, want)
		}
	}
	w.git("checkout", "-q", "HEAD~1")
	if got := w.ask(3); got != "make it count" {
		t.Errorf("of the commit before: %q", got)
	}
}

// A line of the same text is another one where the lines around it are others.
func TestLinesAround(t *testing.T) {
	w := newWork(t)
	w.prompt("open the door")
	w.change("c1", "Write", false, map[string]any{"file_path": "a.go", "content": "func open() {\n\tif err != nil {\n\t\treturn err\n\t}\n\tdoor.open()\n}\n"})
	w.prompt("close the window")
	w.change("c2", "Edit", false, edit("}\n", "}\n\nfunc shut() {\n\tif err != nil {\n\t\treturn err\n\t}\n\twindow.shut()\n}\n"))
	w.write("func open() {\n\tif err != nil {\n\t\treturn err\n\t}\n\tdoor.open()\n}\n\nfunc shut() {\n\tif err != nil {\n\t\treturn err\n\t}\n\twindow.shut()\n}\n")
	for line, want := range map[int]string{2: "open the door", 9: "close the window"} {
		if got := w.ask(line); got != want {
			t.Errorf("line %d: %q, want %q", line, got, want)
		}
	}
}

// A line is followed into a file that git knows as renamed, and into another file by its text.
func TestMoved(t *testing.T) {
	w := newWork(t)
	const text = "package a\n\nfunc count() {\n\tone := first()\n\ttwo := second(one)\n\tprint(one, two)\n}\n"
	w.prompt("count to two")
	w.change("c1", "Write", false, map[string]any{"file_path": "/elsewhere/b.go", "content": text})
	if err := os.WriteFile(filepath.Join(w.dir, "b.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.git("add", "b.go")
	w.git("commit", "-qm", "count")
	w.at = w.at.Add(48 * time.Hour)
	w.git("mv", "b.go", "a.go")
	w.git("commit", "-qm", "rename")
	if got := w.ask(5); got != "count to two" {
		t.Errorf("renamed in a commit: %q", got)
	}
	if a, err := why.Ask(t.Context(), w.db, w.dir, "a.go", 5); err != nil || a.Commit == nil || a.Commit.File != "b.go" || a.Commit.Author != "ada" || a.Commit.Subject != "count" {
		t.Errorf("its commit is %+v, %v", a.Commit, err)
	}
	w.prompt("shout")
	w.change("c2", "Write", false, map[string]any{"file_path": "/elsewhere/loud.go", "content": strings.ReplaceAll(text, "print", "shout")})
	w.write(strings.ReplaceAll(text, "print", "shout"))
	w.git("commit", "-qam", "shout")
	if got := w.ask(6); got != "shout" {
		t.Errorf("renamed before the commit: %q", got)
	}
	w.at = w.at.Add(48 * time.Hour)
	w.write("package a\n\nfunc copied() {\n\tone := first()\n\ttwo := second(one)\n\tshout(one, two)\n}\n")
	w.git("rm", "-q", "--cached", "a.go")
	w.git("commit", "-qm", "gone")
	w.git("add", "a.go")
	w.git("commit", "-qm", "copied")
	if got := w.ask(3); !strings.Contains(got, "surely brought this line") {
		t.Errorf("written days later: %q", got)
	}
}

// Of two lines with the same text, the one that a person wrote is not the agent's.
func TestSameText(t *testing.T) {
	w := newWork(t)
	const open = "func open() {\n\tif err != nil {\n\t\treturn err\n\t}\n\tdoor.open()\n}\n"
	w.prompt("open the door")
	w.change("c1", "Write", false, map[string]any{"file_path": "a.go", "content": open})
	w.write(open + "\nfunc shut() {\n\tif err != nil {\n\t\treturn err\n\t}\n\twindow.shut()\n}\n")
	for line, want := range map[int]string{3: "open the door", 10: "no change in the record surely brought this line: a person or a command may have written it"} {
		if got := w.ask(line); got != want {
			t.Errorf("line %d: %q, want %q", line, got, want)
		}
	}
}

// A prompt that says little is shown with what it answers.
func TestShortPrompt(t *testing.T) {
	w := newWork(t)
	w.prompt("what can we do about the door?")
	w.say(llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{{Kind: llms.PartText, Text: strings.Repeat("It is shut. ", 50) + "Shall I open it?"}}})
	w.prompt("yes")
	w.change("c1", "Write", false, map[string]any{"file_path": "a.go", "content": "package a\n\nvar door = opened()\n"})
	w.write("package a\n\nvar door = opened()\n")
	a, err := why.Ask(t.Context(), w.db, w.dir, "a.go", 3)
	if err != nil || len(a.Origins) != 1 || a.Origins[0].Prompt != "yes" || !strings.HasSuffix(a.Origins[0].Asked, "shut. Shall I open it?") {
		t.Errorf("%+v, %v", a, err)
	}
	if text := a.ForModel(); len(text) > 600 || !strings.Contains(text, "Shall I open it?") {
		t.Errorf("%s", text)
	}
}
