package cli

import "syscall"

// belowNormalPriority is BELOW_NORMAL_PRIORITY_CLASS. The idle class would leave
// this process without a processor while it holds the database's lock.
const belowNormalPriority = 0x4000

// lowerPriority gives this process a low priority, if it may.
func lowerPriority() {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return
	}
	_, _, _ = syscall.NewLazyDLL("kernel32.dll").NewProc("SetPriorityClass").Call(uintptr(self), belowNormalPriority)
}
