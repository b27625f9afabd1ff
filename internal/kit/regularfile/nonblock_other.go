//go:build !unix

package regularfile

// nonblock is nothing where pipes have no names in the file system.
const nonblock = 0
