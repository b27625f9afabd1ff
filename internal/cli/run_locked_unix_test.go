//go:build unix

package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// TestRunEndsWhileLocked: a database that another process has locked neither keeps the
// agent from starting or ending nor changes its exit code.
func TestRunEndsWhileLocked(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("lcm") // testscript puts this test's own binary there
	if err != nil {
		t.Fatal(err)
	}
	for name, sql := range map[string]string{
		"by a writer":     "BEGIN IMMEDIATE",
		"for every other": "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for a lock
			dir := t.TempDir()
			agent, database := filepath.Join(dir, "claude"), filepath.Join(dir, "lcm.db")
			if err := os.WriteFile(agent, []byte("#!/bin/sh\nread line; exit 7\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			start := func(more ...string) (wait func() (string, error)) {
				c := exec.Command(program, slices.Concat([]string{"--db", database, "run"}, more, []string{"--", agent})...)
				c.Dir = dir
				c.Env = append(os.Environ(), "HOME="+dir, "LCM_BUSY_TIMEOUT_MS=600000")
				var stderr strings.Builder
				c.Stderr = &stderr
				in, err := c.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				return func() (string, error) {
					_ = in.Close() // the agent ends
					err := c.Wait()
					return stderr.String(), err
				}
			}
			ends := func(wait func() (string, error), want string) {
				t.Helper()
				began := time.Now()
				said, err := wait()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != 7 || !strings.Contains(said, want) {
					t.Errorf("%v, want the agent's code 7 and %q: %s", err, want, said)
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("it takes %s to end", took)
				}
			}
			ends(start(), "claude runs behind lcm")
			c, err := sqlite3.Open(database)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.BusyTimeout(time.Minute); err != nil {
				t.Fatal(err)
			}
			if err := c.Exec(sql); err != nil {
				t.Fatal(err)
			}
			if name == "by a writer" {
				ends(start(), "claude runs behind lcm")
				return
			}
			ends(start("--plain"), "claude starts without lcm: the database was not ready within 3s")
			locked := exec.Command(program, "--db", database, "run", "--", agent)
			locked.Dir, locked.Env = dir, append(os.Environ(), "HOME="+dir, "LCM_BUSY_TIMEOUT_MS=1")
			if said, err := locked.CombinedOutput(); locked.ProcessState.ExitCode() != exitDatabase {
				t.Errorf("%v, want that the agent is not started: %s", err, said)
			}
			// A folded session would not fit the model's window: the agent waits for lcm.
			time.AfterFunc(4*time.Second, func() { _ = c.Close() }) // the test ends later
			ends(start(), "claude waits for lcm's database, which is not ready; `lcm run --plain` starts it without lcm\nnote: claude runs behind lcm")
		})
	}
}
