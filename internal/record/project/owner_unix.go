//go:build unix

package project

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// owned reports whether a file belongs to this user, by git's rule: root also
// trusts the files of the user who called sudo.
func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	euid := os.Geteuid()
	if int(stat.Uid) == euid {
		return true
	}
	if euid != 0 {
		return false
	}
	uid, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32)
	return err == nil && uint32(uid) == stat.Uid
}
