//go:build unix

package setup

import (
	"errors"
	"syscall"
)

// isReadOnly reports whether a file system takes no writes.
func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
