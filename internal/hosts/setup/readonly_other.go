//go:build !unix

package setup

// isReadOnly reports whether a file system takes no writes.
func isReadOnly(error) bool { return false }
