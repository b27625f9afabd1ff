package gonefiles_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/recall/gonefiles"
	"github.com/lossless-context/lcm/recall"
)

// place makes a project with src/main.go and docs/, and a file outside of it.
func place(t *testing.T) (dir string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(top, "project")
	for _, name := range []string{"project/src/main.go", "project/docs/x.md", "outside/there.go"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(top, "outside"), filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	return dir
}

func TestQuotedFilesThatAreGone(t *testing.T) {
	dir := place(t)
	for text, want := range map[string]string{
		"see src/main.go:12 and `docs/x.md`":                             "",
		"see src/old.go:12, `docs/a/b.md` and src/old.go":                "src/old.go, docs/a/b.md",
		"edited " + dir + "/src/lost.go and " + dir + "/lib/util.go":     "src/lost.go, lib/util.go",
		"./src/old.go (moved)":                                           "src/old.go",
		"in /etc/hosts.conf and /outside/gone.go":                        "",
		"src/../../outside/gone.go, ../outside/gone.go, docs/../gone.go": "",
		dir + "/../outside/gone.go":                                      "",
		"link/gone.go and link/there.go":                                 "", // leads out
		"other/gone.go has no directory here":                            "",
		"https://example.org/src/gone.go, x.org/src/gone.go, main.go":    "",
		"a directory src/old and a pattern src/*.go and src/<name>.go":   "",
	} {
		a := recall.GrepAnswer{Scope: recall.Scope{Kind: recall.ScopeProject}, Matches: []recall.Match{{Snippet: text}}}
		var notes []string
		if want != "" {
			notes = []string{"gone since: " + want}
		}
		if got := gonefiles.InMatches(filepath.Join(dir, "docs/.."), a); !slices.Equal(got, notes) {
			t.Errorf("%q: %q, want %q", text, got, notes)
		}
		if got := gonefiles.InAnswer(dir, recall.Answer{Scope: a.Scope, Answer: text}); !slices.Equal(got, notes) {
			t.Errorf("%q in an answer: %q, want %q", text, got, notes)
		}
	}
}

// What may belong to another project is not looked for, and neither is anything where
// there is no directory.
func TestOnlyFilesOfTheProject(t *testing.T) {
	dir := place(t)
	m := recall.Match{Snippet: "src/old.go"}
	other := m
	other.Project = "elsewhere"
	for _, test := range []struct {
		dir, kind string
		match     recall.Match
	}{{dir, recall.ScopeAll, m}, {dir, recall.ScopeConversation, m}, {dir, recall.ScopeProject, other}, {"", recall.ScopeProject, m}, {dir + "/none", recall.ScopeProject, m}} {
		if got := gonefiles.InMatches(test.dir, recall.GrepAnswer{Scope: recall.Scope{Kind: test.kind}, Matches: []recall.Match{test.match}}); got != nil {
			t.Errorf("%+v: %q", test, got)
		}
	}
	widened := recall.GrepAnswer{Scope: recall.Scope{Kind: recall.ScopeAll}, Widened: &recall.Widened{}, Matches: []recall.Match{other, m}}
	if got := gonefiles.InMatches(dir, widened); len(got) != 1 {
		t.Errorf("of the project, in a widened search: %q", got)
	}
	many := recall.GrepAnswer{Scope: recall.Scope{Kind: recall.ScopeCurrent}}
	for i := range 200 {
		many.Matches = append(many.Matches, recall.Match{Snippet: "src/" + strings.Repeat("x", i+1) + ".go"})
	}
	if got := gonefiles.InMatches(dir, many); len(got) != 1 || !strings.HasSuffix(got[0], "and 56 more") {
		t.Errorf("%q", got)
	}
}
