//go:build unix

package cli

import (
	"os"
	"syscall"
)

// userSignals are those whose meaning is the agent's own. A second SIGWINCH, after that of a
// terminal, changes nothing.
var userSignals = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH}

// hasTerminal reports whether this process has a controlling terminal, which sends Ctrl-C
// to a process and its children.
func hasTerminal() bool {
	f, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	return f.Close() == nil
}
