//go:build unix

package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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
			start := func() (wait func() (string, error)) {
				c := exec.Command(program, "--db", database, "run", "--", agent)
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
			ends := func(wait func() (string, error)) {
				t.Helper()
				began := time.Now()
				said, err := wait()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != 7 {
					t.Errorf("%v, want the agent's code 7: %s", err, said)
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("it takes %s to end", took)
				}
			}
			first := start()
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				if info, err := os.Stat(database); err == nil && info.Size() > 0 || time.Now().After(deadline) {
					break
				}
			}
			c, err := sqlite3.Open(database)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.BusyTimeout(time.Minute); err != nil {
				t.Fatal(err)
			}
			if name == "by a writer" {
				// The run is under way. Another process holds the lock beyond its end.
				if err := c.Exec(sql); err != nil {
					t.Fatal(err)
				}
				ends(first)
			} else {
				ends(first)
				if err := c.Exec(sql); err != nil {
					t.Fatal(err)
				}
			}
			ends(start())
		})
	}
}
