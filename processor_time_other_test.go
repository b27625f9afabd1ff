//go:build !unix

package lcm_test

import "time"

// processorTime is not known here.
func processorTime() time.Duration { return 0 }
