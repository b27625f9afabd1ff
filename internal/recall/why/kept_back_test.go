package why_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/recall/why"
)

const (
	token = "ghp_9aZ3kQ7mX2vB5nL8cR1tY6uW4pS0dF3gH7jK"
	key   = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx7Qm2vB5nL8cR1tY6uW4pS0dF3gH7jK9aZ3kQ7mX2vB5nL8c\nR1tY6uW4pS0dF3gH7jK9aZ3kQ7mX2vB5nL8cR1tY6uW4pS0dF3gH7jKx7Qm2vB5\n-----END RSA PRIVATE KEY-----"
)

func (w *work) file(name, text string) {
	w.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// wrote has the agent write a file.
func (w *work) wrote(name, text string) {
	w.Helper()
	w.change("write "+name, "Write", false, map[string]any{"file_path": name, "content": text})
	w.file(name, text)
}

// told returns everything that is told of a line: the answer in all its forms, or the error.
func (w *work) told(name string, line int) (why.Answer, string) {
	w.Helper()
	a, err := why.Ask(w.Context(), w.db, w.dir, name, line)
	raw, encoded := json.Marshal(a)
	if encoded != nil {
		w.Fatal(encoded)
	}
	return a, fmt.Sprint(string(raw), a.ForModel(), err)
}

// A line is told only if the record has a change of its file and of the line, and git does not
// ignore the file: lcm why is no way to read what the agent or the user may not show.
func TestKeptBack(t *testing.T) {
	w := newWork(t)
	w.prompt("set it up")
	const text = "first kept line of words\nsecond kept line of words\n"
	w.file(".gitignore", ".env\nprivate/\n")
	w.file("typed.txt", text)
	w.git("add", ".")
	w.git("commit", "-qm", "first")
	for _, name := range []string{".env", "private/deep/notes.txt", "sub/.git/config", "link.txt", "written.txt"} {
		w.wrote(name, text)
	}
	w.file(".git/info/note", text)
	w.change("c", "Write", false, map[string]any{"file_path": ".git/info/note", "content": text})
	if err := os.Remove(filepath.Join(w.dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".env", filepath.Join(w.dir, "link.txt")); err != nil {
		t.Skip(err)
	}
	w.file("written.txt", text+"third kept line by hand\n")
	for _, c := range []struct {
		name string
		line int
		want string
	}{
		{".env", 1, "git ignores .env"},
		{"private/deep/notes.txt", 2, "git ignores private/deep/notes.txt"},
		{"link.txt", 1, "git ignores"},
		{".git/info/note", 1, "is git's own"},
		{"sub/.git/config", 1, "is git's own"},
		{".git/config", 1, "is git's own"},
		{".git", 1, "is git's own"},
		{"typed.txt", 1, "no change in the record surely brought this line"},
		{"written.txt", 3, "no change in the record surely brought this line"},
	} {
		if a, told := w.told(c.name, c.line); !strings.Contains(told, c.want) || strings.Contains(told, "kept line") || a.Text != "" {
			t.Errorf("%s:%d: %s, want %s and no line", c.name, c.line, told, c.want)
		}
	}
	if a, told := w.told("written.txt", 2); a.Text != "second kept line of words" || len(a.Origins) != 1 {
		t.Errorf("a line of a file that was just written: %s", told)
	}
}

// Outside of git, and where git cannot be asked.
func TestWithoutGit(t *testing.T) {
	w := newWork(t)
	w.prompt("write it")
	w.wrote("a.go", "var written = byTheAgent()\n")
	w.file("b.go", "var typed = byHand()\n")
	if err := os.RemoveAll(filepath.Join(w.dir, ".git", "objects")); err != nil {
		t.Fatal(err)
	}
	if _, told := w.told("a.go", 1); !strings.Contains(told, "whether git ignores a.go") || strings.Contains(told, "byTheAgent") {
		t.Errorf("in a repository that is broken: %s", told)
	}
	if err := os.RemoveAll(filepath.Join(w.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if _, told := w.told("a.go", 1); !strings.Contains(told, "byTheAgent") {
		t.Errorf("outside of git: %s", told)
	}
	if _, told := w.told("b.go", 1); strings.Contains(told, "byHand") {
		t.Errorf("a file that no session changed: %s", told)
	}
}

// Secrets are masked, in a line, over lines and in the words of a commit, and the line is found
// all the same.
func TestMasked(t *testing.T) {
	w := newWork(t)
	w.prompt("write it")
	lines := []string{"const words = \"kept\"", "const token = \"" + token + "\"", "const key = `" + key + "`", "const end = \"kept\""}
	w.wrote("a.go", strings.Join(lines, "\n")+"\n")
	w.git("add", ".")
	w.git("commit", "-qm", "use "+token)
	n := strings.Count(strings.Join(lines, "\n"), "\n") + 1
	for line := 1; line <= n; line++ {
		a, told := w.told("a.go", line)
		for _, secret := range append(strings.Split(key, "\n")[1:3], token) {
			if strings.Contains(told, secret) {
				t.Errorf("line %d shows %s: %s", line, secret, told)
			}
		}
		if kept := line == 1 || line == n; kept && (len(a.Origins) != 1 || !strings.Contains(a.Text, "kept")) {
			t.Errorf("line %d: %s", line, told)
		}
		if a.Commit == nil || a.Commit.Subject != "use [redacted: github pat]" {
			t.Errorf("line %d: commit %+v", line, a.Commit)
		}
	}
	w.wrote("b.go", "package b\n\nconst token = \""+token+"\"\n")
	if a, told := w.told("b.go", 3); len(a.Origins) != 1 || a.Text != `const token = "[redacted: github pat]"` {
		t.Errorf("a line whose secret is masked in the record too: %s", told)
	}
}
