//go:build unix

package cli

import (
	"os"
	"strconv"
	"syscall"
)

// lowPriority is not 19, the lowest: others would wait too long for this process's lock.
const lowPriority = 10

// lowerPriority gives this process a low priority, if it may. On Linux each thread has one,
// which new threads inherit.
func lowerPriority() {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowPriority)
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, lowPriority)
		}
	}
}
