// Package process names processes in leases, and tells whether a named process has
// ended: a killed process does not release its leases.
package process

import (
	"crypto/rand"
	"fmt"
	"os"
)

// Owner returns a new name for a lease holder in this process.
func Owner() string { return fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()[:8]) }

// Ended reports whether the process that Owner named is known to have ended. A
// process in another container may wrongly count as ended; then two processes do
// the same work, which must be harmless.
func Ended(owner string) bool {
	var pid int
	if _, err := fmt.Sscanf(owner, "%d-", &pid); err != nil || pid <= 0 {
		return false
	}
	return gone(pid)
}
