package imports

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// watchMemory follows how much memory the process holds until the function
// that it returns is called, which says how much that was at most.
func watchMemory() (peak func() int64) {
	stop, result := make(chan struct{}), make(chan int64)
	go func() {
		most := held()
		ticks := time.NewTicker(20 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-stop:
				result <- max(most, held())
				return
			case <-ticks.C:
				most = max(most, held())
			}
		}
	}()
	return func() int64 { close(stop); return <-result }
}

// held is the resident memory of the process, or what the Go runtime has
// taken where the operating system does not say.
func held() int64 {
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := strings.Fields(string(statm)); len(fields) > 1 {
			if pages, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				return pages * int64(os.Getpagesize())
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
