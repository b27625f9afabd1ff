package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Syncs with another machine that run at the same time wait for each other, and nothing that the
// other machine says on standard error acts on a terminal.
func TestOneSyncAtATime(t *testing.T) {
	program, err := exec.LookPath("lcm") // testscript puts this test's own binary there
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("ssh", "#!/bin/sh\nmkdir lock || echo overlap >> overlaps\nprintf 'it\\033]0;owned\\007 says \\342\\200\\256no\\n' >&2\nfor i in 1 2 3 4 5 6 7 8 9; do ls / > /dev/null; done\nrmdir lock\nexit 3\n")
	write("m.jsonl", `{"role":"user","content":"hello"}`+"\n")
	command := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), program, args...)
		c.Dir, c.Env = dir, []string{"HOME=" + dir, "PATH=" + dir + ":" + os.Getenv("PATH")}
		return c
	}
	if out, err := command("import", "m.jsonl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var said [4]bytes.Buffer
	var syncs [4]*exec.Cmd
	for i := range syncs {
		syncs[i] = command("sync", "ssh://other")
		syncs[i].Stderr = &said[i]
		if err := syncs[i].Start(); err != nil {
			t.Skip(err)
		}
	}
	for i, c := range syncs {
		if err := c.Wait(); err == nil || c.ProcessState.ExitCode() != exitFailure {
			t.Errorf("sync %d ends with %v: %s", i, err, &said[i])
		}
		if out := said[i].String(); strings.IndexFunc(out, acts) >= 0 || !strings.Contains(out, `it\x1b]0;owned\x07 says \u202eno`) {
			t.Errorf("sync %d says %q", i, out)
		}
	}
	if overlaps, err := os.ReadFile(filepath.Join(dir, "overlaps")); err == nil {
		t.Errorf("%d of %d ran beside another", strings.Count(string(overlaps), "overlap"), len(syncs))
	}
}
