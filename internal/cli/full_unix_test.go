//go:build unix

package cli

import (
	"os/signal"
	"syscall"
)

// mainOnFullDisk is the program where no file may grow beyond two pages, which
// is what a full disk is to it: "full-lcm".
func mainOnFullDisk() {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	check(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	limit.Cur = 8192
	check(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	main()
}
