package cli

import (
	"os/exec"
	"syscall"
)

// detachedProcess has a process run without the console of the one that
// started it.
const detachedProcess = 0x8

// startDetached starts a command without a console, so that it goes on when
// the host ends what it started.
func startDetached(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: detachedProcess | syscall.CREATE_NEW_PROCESS_GROUP}
	return startAndReap(c)
}
