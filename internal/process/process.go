// Package process names processes in leases, and tells whether one of them has
// ended: a process that was killed does not give its leases back.
package process

import (
	"crypto/rand"
	"fmt"
	"os"
)

// Owner returns a new name for something that this process does.
func Owner() string { return fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()[:8]) }

// Ended reports whether the process that Owner named is known to have ended. A
// process in another container may be taken for one that has ended; then two
// do the same work at a time, which must waste it and harm nothing.
func Ended(owner string) bool {
	var pid int
	if _, err := fmt.Sscanf(owner, "%d-", &pid); err != nil || pid <= 0 {
		return false
	}
	return gone(pid)
}
