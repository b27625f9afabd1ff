//go:build unix

package cli

import (
	"os"
	"strconv"
	"syscall"
)

// lowPriority leaves the processors to those who need them. The lowest priority,
// 19, would leave this process without one for so long, while it holds the
// database's lock, that others wait for it.
const lowPriority = 10

// lowerPriority gives this process a low priority. Where that is refused
// it goes on with the one that it has. Linux has a priority for each thread,
// which new threads take over from the one that starts them.
func lowerPriority() {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowPriority)
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, lowPriority)
		}
	}
}
