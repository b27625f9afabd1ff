//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// startDetached starts a command in a session of its own, so that it outlives the host.
func startDetached(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return startAndReap(c)
}
