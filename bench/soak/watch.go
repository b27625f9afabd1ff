package soak

import (
	"math"
	"os"
	"runtime"
	"time"

	"github.com/lossless-context/lcm/bench/harness"
)

// Point is the resources of the process at one moment.
type Point struct {
	At         time.Duration `json:"atNs"`
	Appended   int64         `json:"appended"`
	RSS        int64         `json:"rssBytes"`
	Heap       int64         `json:"heapBytes"`
	Files      int           `json:"fileDescriptors"` // -1 where the system does not say
	Goroutines int           `json:"goroutines"`
}

func look(at time.Duration, appended int64) Point {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Point{At: at, Appended: appended, RSS: harness.RSS(), Heap: int64(m.HeapAlloc), Files: descriptors(), Goroutines: runtime.NumGoroutine()}
}

func descriptors() int {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return -1
	}
	return len(open) - 1 // without the one that lists them
}

// histogram counts durations in buckets that grow by a twentieth: a quantile
// is right to five percent, and an hour takes no more room than a second. One goroutine
// adds to it.
type histogram struct {
	buckets [512]int64
	n       int64
	max     time.Duration
}

const growth = 1.05

func (h *histogram) add(d time.Duration) {
	i := 0
	if us := float64(d) / float64(time.Microsecond); us > 1 {
		i = min(len(h.buckets)-1, int(math.Log(us)/math.Log(growth)))
	}
	h.buckets[i]++
	h.n++
	h.max = max(h.max, d)
}

// quantile returns the upper edge of the bucket in which a share of the
// durations ends, in milliseconds.
func (h *histogram) quantile(share float64) float64 {
	rank := int64(math.Ceil(share * float64(h.n)))
	var seen int64
	for i, n := range h.buckets {
		if seen += n; seen >= rank && n > 0 {
			return min(math.Pow(growth, float64(i+1))/1000, float64(h.max)/float64(time.Millisecond))
		}
	}
	return 0
}
