//go:build !unix

package harness

import "time"

// CPUTime is zero: this operating system does not tell.
func CPUTime() time.Duration { return 0 }
