//go:build unix

package backup

import (
	"io/fs"
	"os"
	"syscall"
)

// ownFile reports whether a file belongs to this user.
func ownFile(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
