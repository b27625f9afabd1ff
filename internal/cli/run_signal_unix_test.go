//go:build unix

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/hosts/launch"
)

// TestSignalForAgent: an INT that is sent to lcm alone reaches the agent, unless a terminal
// may have sent it, which sends it to the agent too. TERM, USR1 and WINCH always reach it.
func TestSignalForAgent(t *testing.T) {
	const script = `trap 'exit 9' INT; trap 'exit 8' TERM; trap 'exit 7' USR1; trap 'exit 6' WINCH; : > "$1"; while :; do sleep 0.05; done`
	for name, c := range map[string]struct {
		terminal bool
		signals  []syscall.Signal
		want     int
	}{
		"no terminal": {false, []syscall.Signal{syscall.SIGINT}, 9},
		"a terminal":  {true, []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}, 8},
		"its own":     {true, []syscall.Signal{syscall.SIGUSR1}, 7},
		"a new size":  {true, []syscall.Signal{syscall.SIGWINCH}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			ready := filepath.Join(t.TempDir(), "ready")
			done := make(chan error, 1)
			cmd := &runCommand{program: &program{}}
			go func() {
				done <- cmd.wait(t.Context(), launch.Child{Path: "/bin/sh", Args: []string{"-c", script, "sh", ready}}, func() bool { return c.terminal })
			}()
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				if _, err := os.Stat(ready); err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("the agent does not start")
				}
			}
			for _, s := range c.signals {
				if err := syscall.Kill(os.Getpid(), s); err != nil {
					t.Fatal(err)
				}
			}
			var code *childEnded
			if err := <-done; !errors.As(err, &code) || code.code != c.want {
				t.Errorf("%v, want %d", err, c.want)
			}
		})
	}
}
