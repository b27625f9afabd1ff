package harness

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Machine is the machine that the numbers were measured on.
type Machine struct {
	Platform string `json:"platform"`
	CPU      string `json:"cpu,omitempty"`
	Cores    int    `json:"cores"`
	Go       string `json:"go"`
	SQLite   string `json:"sqlite"`
	// Load is the load average before the measurement.
	Load string `json:"load,omitempty"`
}

// ThisMachine describes the machine, with its load.
func ThisMachine() (m Machine, err error) {
	m = Machine{Platform: runtime.GOOS + "/" + runtime.GOARCH, CPU: field("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(), Go: runtime.Version()}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(load), " ")
	}
	c, err := sqlite3.Open(":memory:")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	s, _, err := c.Prepare("SELECT sqlite_version()")
	if err != nil {
		return m, err
	}
	if s.Step() {
		m.SQLite = s.ColumnText(0)
	}
	return m, errors.Join(s.Err(), s.Close())
}

// field reads a value from a file of the proc file system; it is empty where
// there is none.
func field(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// RSS is the memory that the process holds. Where the operating system does not
// tell, it is the memory that the Go runtime has taken.
func RSS() int64 {
	var kB int64
	if _, err := fmt.Sscanf(field("/proc/self/status", "VmRSS"), "%d kB", &kB); err == nil {
		return kB << 10
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

// WatchRSS samples RSS until the function that it returns is called, which
// returns the highest value.
func WatchRSS() (peak func() int64) {
	stop, result := make(chan struct{}), make(chan int64)
	go func() {
		most := RSS()
		ticks := time.NewTicker(20 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-stop:
				result <- max(most, RSS())
				return
			case <-ticks.C:
				most = max(most, RSS())
			}
		}
	}()
	return func() int64 { close(stop); return <-result }
}
