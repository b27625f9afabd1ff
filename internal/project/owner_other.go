//go:build !unix

package project

import "io/fs"

// owned leaves the question to the rights of the file system.
func owned(fs.FileInfo) bool { return true }
