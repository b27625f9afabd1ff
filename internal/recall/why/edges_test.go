package why_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/recall/why"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// The prompts that changed a file are listed newest first, once each, also when the file is gone. A
// file of the same name in another directory is another file; in another work tree it is not.
func TestOfFile(t *testing.T) {
	w := newWork(t)
	w.write("x")
	if a, err := why.Ask(t.Context(), w.db, w.dir, "a.go", 0); err != nil || a.Note != "the record has no session of this project" {
		t.Errorf("without a session: %+v, %v", a, err)
	}
	w.prompt("other files")
	for i, name := range []string{"sub/a.go", w.dir + "/sub/a.go", "/elsewhere/aa.go", "/elsewhere/b.go"} {
		w.change(fmt.Sprint("o", i), "Write", false, map[string]any{"file_path": name, "content": "x"})
	}
	if a, err := why.Ask(t.Context(), w.db, w.dir, "a.go", 0); err != nil || !strings.HasPrefix(a.Note, "no session of the record changed this file") {
		t.Errorf("without a change: %+v, %v", a, err)
	}
	if err := errors.Join(os.Remove(filepath.Join(w.dir, "a.go")), os.MkdirAll(filepath.Join(w.dir, "tree", ".git"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for p, names := range [][]string{{"a.go", "/elsewhere/a.go", w.dir + "/a.go"}, {w.dir + "/tree/a.go"}} {
		w.prompt(fmt.Sprint("prompt ", p))
		for i, name := range names {
			w.change(fmt.Sprint(p, i), "Write", false, map[string]any{"file_path": name, "content": "x"})
		}
	}
	w.prompt("what failed")
	w.change("failed", "Write", true, map[string]any{"file_path": "a.go", "content": "x"})
	var got []string
	a, err := why.Ask(t.Context(), w.db, w.dir, "a.go", 0)
	for _, o := range a.Origins {
		got = append(got, fmt.Sprintf("%s: %d", o.Prompt, o.Changes))
	}
	if got := strings.Join(got, ", "); err != nil || got != "prompt 1: 1, prompt 0: 3" || a.Note != "" {
		t.Errorf("%s, note %q, %v", got, a.Note, err)
	}
	for p := 2; p < 21; p++ {
		if a, err = why.Ask(t.Context(), w.db, w.dir, "a.go", 0); err != nil || len(a.Origins) != p || a.Note != "" {
			t.Fatalf("%d prompts: %d are listed, note %q, %v", p, len(a.Origins), a.Note, err)
		}
		w.prompt(fmt.Sprint("prompt ", p))
		w.change(fmt.Sprint("c", p), "Write", false, map[string]any{"file_path": "a.go", "content": "x"})
	}
	if a, err = why.Ask(t.Context(), w.db, w.dir, "a.go", 0); err != nil || len(a.Origins) != 20 || !strings.Contains(a.Note, "there are more") {
		t.Errorf("21 prompts: %d are listed, note %q, %v", len(a.Origins), a.Note, err)
	}
}

// What is not a line of a file of the project is refused, with advice.
func TestRefused(t *testing.T) {
	w := newWork(t)
	w.prompt("begin")
	w.write("package a\n\nvar one = 1\n")
	if err := os.Mkdir(filepath.Join(w.dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int64{"fits": 8 << 20, "large": 8<<20 + 1} {
		path := filepath.Join(w.dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		line int
		want string
	}{
		{"../a.go", 1, "not a file of this project"}, {"/etc/hosts", 0, "not a file of this project"}, {"gone.go", 1, "gone.go: file does not exist"}, {"d", 1, "not a file of at most"},
		{"a.go", 4, "has 3 lines"}, {"fits", 2, "has 1 lines"}, {"large", 1, "not a file of at most"}, {"a.go", 3, "<nil>"}, {"gone.go", 0, "gone.go: file does not exist"},
	} {
		_, err := why.Ask(t.Context(), w.db, w.dir, c.name, c.line)
		if !strings.Contains(fmt.Sprint(err), c.want) || err != nil && !errors.Is(err, recall.ErrRefused) {
			t.Errorf("line %d of %s: %v, want %s", c.line, c.name, err, c.want)
		}
	}
}

// A change that only keeps a line, and one that failed, did not bring it.
func TestKeptLine(t *testing.T) {
	w := newWork(t)
	w.prompt("bring it in a prompt that is long enough")
	w.say(llms.Assistant("I look first."))
	w.change("c1", "Edit", false, edit("", "var two = one + one\n"))
	w.prompt("keep it")
	w.change("c2", "Edit", false, edit("var two = one + one\nx", "var two = one + one\ny"))
	w.write("var two = one + one\ny\n")
	a, err := why.Ask(t.Context(), w.db, w.dir, "a.go", 1)
	if err != nil || len(a.Origins) != 1 || a.Origins[0].Prompt != "bring it in a prompt that is long enough" || a.Origins[0].Said != "I look first." {
		t.Errorf("%+v, %v", a, err)
	}
}

// A prompt of fewer than 30 bytes is shown with what the agent had asked.
func TestTersePrompt(t *testing.T) {
	for n, want := range map[int]string{29: "Shall I?", 30: ""} {
		w := newWork(t)
		w.say(llms.Assistant("Shall I?"))
		w.prompt(strings.Repeat("y", n))
		w.change("c1", "Write", false, map[string]any{"file_path": "a.go", "content": "x"})
		a, err := why.Ask(t.Context(), w.db, w.dir, "a.go", 0)
		if err != nil || len(a.Origins) != 1 || a.Origins[0].Asked != want {
			t.Errorf("%d bytes: %+v, %v", n, a.Origins, err)
		}
	}
}

func TestForModel(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	full := why.Answer{
		File: "a.go", Line: 3, Text: "var a = 1", Note: "note",
		Origins: []why.Origin{{ID: 7, At: at, Tool: "Edit", PromptID: 5, Prompt: "do it", Asked: "Shall I?", Said: "I do."}},
		Commit:  &why.Commit{Hash: "0123456789abcdef", At: at, Subject: "Do it"},
	}
	file := full
	file.Line, file.Commit, file.Note = 0, nil, ""
	for want, a := range map[string]why.Answer{
		`a.go:3 "var a = 1"
msg_7, 2026-03-01 12:00, Edit
  the user asked (msg_5): "do it"
  in answer to the agent: "Shall I?"
  the agent said before the call: "I do."
commit 0123456789, 2026-03-01 12:00: "Do it"
note`: full,
		`a.go
msg_7, 2026-03-01 12:00, Edit
  the user asked (msg_5): "do it"
  in answer to the agent: "Shall I?"`: file,
		"b.go\nmsg_7, 0001-01-01 00:00, ": {File: "b.go", Origins: []why.Origin{{ID: store.MessageID(7)}}},
	} {
		if got := a.ForModel(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
