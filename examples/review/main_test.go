package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// Every file is reviewed, and a second run asks about files again only if one has changed.
func TestReview(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "")
	t.Setenv("OPENAI_API_KEY", "")
	dir, database := t.TempDir(), filepath.Join(t.TempDir(), "review.db")
	write(t, dir, "a.go", "package a\n\n// TODO: say \"why\"\nvar x = 1\n")
	write(t, dir, "sub/b.go", "package sub\n")
	write(t, dir, "sub/c.go", "package sub // TODO split\n\n/* TODO */\n")
	write(t, dir, "notes.txt", "TODO: not Go\n")
	const first = "a.go:3      low  Unfinished: TODO: say \n"
	const rest = "sub/c.go:1  low  Unfinished: TODO split\nsub/c.go:3  low  Unfinished: TODO */\n"
	for _, test := range []struct {
		change, want string
		calls        int
	}{
		{"", first + rest, 3},
		{"", first + rest, 0},
		{"package a\n", rest, 3},
	} {
		if test.change != "" {
			write(t, dir, "a.go", test.change)
		}
		llm, err := model()
		if err != nil {
			t.Fatal(err)
		}
		if printed := reviewed(t, llm, database, dir); printed != test.want {
			t.Errorf("it prints:\n%s", printed)
		}
		if calls := len(llm.(*llmtest.Model).Requests()); calls != test.calls {
			t.Errorf("%d calls of the model, want %d", calls, test.calls)
		}
	}
}

// A file that the model cannot review is in the table, and what it made up is not.
func TestReviewOfABadModel(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "bad.go", "package bad\n")
	write(t, dir, "good.go", "package good\n")
	llm := llmtest.New(func(r llms.Request) llmtest.Reply {
		if strings.Contains(r.Messages[0].PlainText(), "bad.go") {
			return llmtest.Say(`{"Findings": [{"severity": "huge", "quote": "x", "problem": "y"}]}`)
		}
		return llmtest.Say(`{"Findings": [{"severity": "high", "quote": "x := 1", "problem": "unused"}, {"severity": "high", "quote": "good", "problem": "boast"}]}`)
	})
	printed := reviewed(t, llm, filepath.Join(dir, "review.db"), dir)
	if lines := strings.Split(printed, "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], "bad.go:1   failed  ") || lines[1] != "good.go:1  high    boast" {
		t.Errorf("it prints:\n%s", printed)
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func reviewed(t *testing.T, llm llms.Model, database, dir string) string {
	t.Helper()
	var out strings.Builder
	if err := run(t.Context(), llm, database, dir, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
