//go:build unix

package cli

import (
	"os"
	"syscall"
)

// userSignals are those whose meaning is the agent's own.
var userSignals = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2}

// hasTerminal reports whether this process has a controlling terminal, which sends Ctrl-C
// to a process and its children.
func hasTerminal() bool {
	f, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	return f.Close() == nil
}
