//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// TestRunInBrokenSurroundings: the agent starts and its exit code counts; lcm says that it
// is not in the way.
func TestRunInBrokenSurroundings(t *testing.T) {
	program, err := exec.LookPath("lcm") // testscript puts this test's own binary there
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "claude"), []byte("#!/bin/sh\nexit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(prefix, want string) {
		t.Helper()
		c := exec.Command("sh", "-c", prefix+` "$0" --db lcm.db run -- ./claude`, program)
		c.Dir = dir
		c.Env = append(os.Environ(), "HOME="+dir)
		said, err := c.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 7 || !strings.Contains(string(said), want) {
			t.Errorf("%s: %v, want the agent's code 7 and %q: %s", prefix, err, want, said)
		}
	}
	run("exec", "claude runs behind lcm")
	run("ulimit -n 14; exec", "claude starts without lcm: ")
	if exec.Command("unshare", "-rn", "true").Run() == nil {
		run("exec unshare -rn", "claude starts without lcm: connect to 127.0.0.1:")
	}
	c, err := sqlite3.Open(filepath.Join(dir, "lcm.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Exec("DROP TABLE messages"), c.Close()); err != nil {
		t.Fatal(err)
	}
	run("exec", "claude starts without lcm: ")
}

// TestRunWithUnreadStderr: nobody reads what lcm says, and the agent runs all the same.
func TestRunWithUnreadStderr(t *testing.T) {
	program, err := exec.LookPath("lcm")
	if err != nil {
		t.Fatal(err)
	}
	for name, prepare := range map[string]func(r, w *os.File) error{
		"closed": func(r, _ *os.File) error { return r.Close() },
		"full": func(_, w *os.File) error {
			if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
				return err
			}
			if _, err := w.Write(make([]byte, 4<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
				return fmt.Errorf("the pipe takes everything: %w", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			// The agent's own SIGPIPE has its default.
			if err := os.WriteFile(filepath.Join(dir, "claude"), []byte("#!/bin/sh\nkill -PIPE $$\nexit 7\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			if err := prepare(r, w); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			c := exec.CommandContext(ctx, program, "--db", "lcm.db", "run", "--", "./claude")
			c.Dir, c.Env, c.Stderr = dir, append(os.Environ(), "HOME="+dir), w
			if err := c.Run(); c.ProcessState.ExitCode() != 128+int(syscall.SIGPIPE) {
				t.Errorf("%v, want the agent's end", err)
			}
		})
	}
}
