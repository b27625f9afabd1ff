package cli

import (
	"os/exec"
	"syscall"
)

// detachedProcess is DETACHED_PROCESS: the process gets no console.
const detachedProcess = 0x8

// startDetached starts a command without a console, so that it outlives the host.
func startDetached(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: detachedProcess | syscall.CREATE_NEW_PROCESS_GROUP}
	return startAndReap(c)
}
