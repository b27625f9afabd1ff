//go:build unix

package project

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/record/store"
)

const configOfOrigin = "[remote \"origin\"]\n\turl = https://example.com/acme/tool\n"

// Git's files are read only where they are files: a pipe or a device in their
// place neither blocks nor fills the memory, and the project is named without
// it.
func TestOfOddFiles(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	pipe := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	zero := func(path string) error { return os.Symlink("/dev/zero", path) }
	for name, c := range map[string]struct {
		make func(path string) error
		at   string
		tree bool // it is a repository all the same
	}{
		".git is a pipe":            {pipe, ".git", false},
		".git is endless":           {zero, ".git", false},
		".git/config is a pipe":     {pipe, ".git/config", true},
		".git/config is endless":    {zero, ".git/config", true},
		".git/config is a dir":      {func(path string) error { return os.Mkdir(path, 0o700) }, ".git/config", true},
		".git/commondir is a pipe":  {pipe, ".git/commondir", true},
		".git/commondir is endless": {zero, ".git/commondir", true},
		"a sparse .git": {func(path string) error {
			return os.WriteFile(path, nil, 0o600)
		}, ".git", false},
	} {
		t.Run(name, func(t *testing.T) {
			top := realDir(t)
			root := filepath.Join(top, "root")
			deep := filepath.Join(root, "deep")
			at := filepath.Join(root, c.at)
			for _, dir := range []string{deep, filepath.Dir(at)} {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.make(at); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Lstat(at); err == nil && info.Mode().IsRegular() {
				if err := os.Truncate(at, 1<<40); err != nil {
					t.Skip(err)
				}
			}
			var got store.Project
			shortest := time.Hour
			for try := 0; try < 3 && shortest > limit/2; try++ { // the machine may be busy once
				begun := time.Now()
				var err error
				if got, err = Of(deep); err != nil {
					t.Fatal(err)
				}
				shortest = min(shortest, time.Since(begun))
			}
			if shortest > limit/2 {
				t.Errorf("it took %s", shortest)
			}
			want := store.Project{Root: deep}
			if c.tree {
				want.Root = root
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A repository of another user does not choose the project, unless the user
// says so to git.
func TestOfOthersRepositories(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to another user")
	}
	for _, whose := range []string{".", ".git", ".git/config"} {
		t.Run(whose, func(t *testing.T) {
			home, root := t.TempDir(), realDir(t)
			t.Setenv("HOME", home)
			t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
			deep := filepath.Join(root, "deep")
			write(t, filepath.Join(deep, "file"), "")
			write(t, filepath.Join(root, ".git", "config"), configOfOrigin)
			is := func(want store.Project) {
				t.Helper()
				got, err := Of(deep)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			ours, none := store.Project{Origin: "example.com/acme/tool", Root: root}, store.Project{Root: deep}
			is(ours)
			if err := os.Chown(filepath.Join(root, whose), 65534, 65534); err != nil {
				t.Fatal(err)
			}
			is(none)
			t.Setenv("SUDO_UID", "65534")
			is(ours)
			t.Setenv("SUDO_UID", "")
			for safe, want := range map[string]store.Project{
				root: ours, "*": ours, filepath.Dir(root) + "/*": ours, root + "/deep": none, root + "\n\tdirectory =": none, "/elsewhere/*": none,
			} {
				write(t, filepath.Join(home, ".gitconfig"), "[user]\n\tdirectory = *\n[safe]\n\tdirectory = "+safe+"\n")
				is(want)
			}
		})
	}
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
