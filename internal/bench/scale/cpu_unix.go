//go:build unix

package scale

import (
	"syscall"
	"time"
)

// cpuTime is what the process has spent of the processor, garbage collection
// and background work included: the one number that other processes on the
// machine do not change much.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
