package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestUndeleteKilled: wherever writing a session back is killed, the transcript is not there or is
// whole, and so is each file beside it. Repeating the command brings back what is missing.
func TestUndeleteKilled(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("lcm") // testscript puts this test's own binary there
	if err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		c := exec.Command(program, append([]string{"--db", filepath.Join(home, "lcm.db")}, args...)...)
		c.Dir, c.Env = home, append(os.Environ(), "HOME="+home, "CLAUDE_CONFIG_DIR=", "LCM_BACKGROUND_COMPACTION=off")
		return c
	}
	const session = "00000000-0000-4000-8000-000000000001"
	slug := strings.NewReplacer("/", "-", ".", "-", "_", "-").Replace(home)
	project := filepath.Join(home, ".claude", "projects", slug)
	files := map[string][]byte{}
	for i := range 4 { // the session itself, and its sub-agents
		var b bytes.Buffer
		for n := range 100 {
			fmt.Fprintf(&b, `{"type":"user","uuid":"%d-%d","parentUuid":"%d-%d","sessionId":%q,"message":{"role":"user","content":"part %d %s"}}`+"\n",
				i, n, i, n-1, session, n, strings.Repeat("and on ", 1000))
		}
		path := filepath.Join(project, session+".jsonl")
		if i > 0 {
			path = filepath.Join(project, session, "subagents", fmt.Sprintf("agent-%d.jsonl", i))
		}
		files[path] = b.Bytes()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := command("import", "claude").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	there := func() (written int) {
		t.Helper()
		for path, want := range files {
			is, err := os.ReadFile(path)
			if os.IsNotExist(err) {
				continue
			}
			if written++; err != nil || !bytes.Equal(is, want) {
				t.Errorf("%s has %d bytes of %d (%v)", path, len(is), len(want), err)
			}
		}
		return written
	}
	size := func() (n int64) { // of what is being written
		for _, pattern := range []string{".lcm-*.part", "*/subagents/.lcm-*.part"} {
			parts, _ := filepath.Glob(filepath.Join(project, pattern))
			for _, path := range parts {
				if info, err := os.Stat(path); err == nil {
					n += info.Size()
				}
			}
		}
		return n
	}
	killed, total := 0, int64(4*len(files[filepath.Join(project, session+".jsonl")]))
	for round := range int64(12) {
		if err := os.RemoveAll(project); err != nil {
			t.Fatal(err)
		}
		c := command("undelete", session)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		for alive := true; alive; {
			select {
			case <-ended:
				alive = false
			case <-time.After(time.Millisecond):
				if size() >= total*round/12 {
					_ = c.Process.Kill() // it may have ended
					if err := <-ended; err != nil {
						killed++
					}
					alive = false
				}
			}
		}
		_, err := os.Stat(filepath.Join(project, session+".jsonl"))
		if n := there(); err == nil && n < len(files) {
			t.Errorf("the session is there, and %d of %d files", n, len(files))
		}
		if err != nil {
			if out, err := command("undelete", session).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		if n := there(); n != len(files) {
			t.Errorf("%d of %d files are back", n, len(files))
		}
	}
	t.Logf("%d of 12 were killed before they ended", killed)
}
