package cli

import (
	"errors"
	"os"
	"path/filepath"
)

// logReserve is the room for errors of hooks on a full disk: a block of the file system.
const logReserve = 4096

// reservePath names the file that keeps room for a log.
func reservePath(log string) string {
	return filepath.Join(filepath.Dir(log), "."+filepath.Base(log)+".reserve")
}

// reserveLog keeps room for a log. If there is none, the next process tries again.
func reserveLog(log string) {
	path := reservePath(log)
	if info, err := os.Stat(path); err == nil && info.Size() >= logReserve {
		return
	}
	if os.WriteFile(path, make([]byte, logReserve), 0o600) != nil {
		_ = os.Remove(path)
	}
}

// appendToLog adds a line to a log. On a full disk the reserve becomes the log.
func appendToLog(path, line string) {
	if writeLine(path, line, os.O_CREATE|os.O_APPEND) == nil {
		return
	}
	reserve := reservePath(path)
	if len(line) > logReserve {
		line = line[:logReserve-1] + "\n"
	}
	if writeLine(reserve, line, 0) != nil || os.Truncate(reserve, int64(len(line))) != nil {
		return
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		_ = os.Rename(path, path+".old")
	}
	_ = os.Rename(reserve, path) // there is nobody to tell if that fails too
}

// writeLine writes a line whole, or leaves the file as it was.
func writeLine(path, line string, flags int) error {
	f, err := os.OpenFile(path, flags|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	before, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if _, err = f.WriteString(line); err != nil && flags&os.O_APPEND != 0 {
		err = errors.Join(err, f.Truncate(before.Size()))
	}
	return errors.Join(err, f.Close())
}
