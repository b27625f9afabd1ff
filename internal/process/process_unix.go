//go:build unix

package process

import (
	"errors"
	"syscall"
)

// gone reports whether there is no process with the given number.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
