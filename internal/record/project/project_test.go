package project

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/record/store"
)

func TestNormalOrigin(t *testing.T) {
	for _, c := range []struct{ remote, want string }{
		{"", ""},
		{"git@github.com:acme/tool.git", "github.com/acme/tool"},
		{"https://github.com/acme/tool.git", "github.com/acme/tool"},
		{"https://GitHub.com/acme/tool/", "github.com/acme/tool"},
		{"https://user:secret@github.com/acme/tool", "github.com/acme/tool"},
		{"ssh://git@github.com:22/acme/tool.git", "github.com/acme/tool"},
		{"git://github.com/acme/tool.git", "github.com/acme/tool"},
		{"host:tool", "host/tool"},
		{"../upstream.git", "/src/upstream.git"},
		{"/srv/git/tool", "/srv/git/tool"},
		{"file:///srv/git/tool", "/srv/git/tool"},
	} {
		if got := normalOrigin(filepath.FromSlash("/src/here"), c.remote); got != c.want {
			t.Errorf("%q is %q, want %q", c.remote, got, c.want)
		}
	}
}

func TestProjectOfWorktree(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main, tree := filepath.Join(dir, "main"), filepath.Join(dir, "tree")
	write(t, filepath.Join(main, ".git", "config"), "[remote \"upstream\"]\n\turl = x\n")
	write(t, filepath.Join(main, ".git", "worktrees", "tree", "commondir"), "../..\n")
	write(t, filepath.Join(tree, ".git"), "gitdir: "+filepath.Join(main, ".git", "worktrees", "tree")+"\n")
	write(t, filepath.Join(tree, "deep", "file"), "")

	want := store.Project{Root: main}
	for _, from := range []string{main, tree, filepath.Join(tree, "deep")} {
		got, err := Of(from)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", from, diff)
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
