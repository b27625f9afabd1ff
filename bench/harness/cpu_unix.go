//go:build unix

package harness

import (
	"syscall"
	"time"
)

// CPUTime is the processor time of this process, with garbage collection and
// background work. Other processes change it little.
func CPUTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
