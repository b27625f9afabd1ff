//go:build unix

package process

import (
	"errors"
	"syscall"
)

// gone reports whether no process has the given id.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
