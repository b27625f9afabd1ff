package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm/internal/record/postgres"
)

// logReserve is the room for errors of hooks on a full disk: a block of the file system.
const logReserve = 4096

// reservePath names the file that keeps room for a log.
func reservePath(log string) string {
	return filepath.Join(filepath.Dir(log), "."+filepath.Base(log)+".reserve")
}

// reserveLog keeps room for the log of a database. The file begins with the names of the
// databases that were opened beside it, see [wasHere]. If there is no room, the next
// process tries again.
func reserveLog(database string) {
	path := reservePath(hookLog(database))
	old, err := os.ReadFile(path)
	if err == nil && len(old) >= logReserve && lists(old, database) {
		return
	}
	names := bytes.TrimRight(old, "\x00")
	if !lists(old, database) && !postgres.IsURL(database) {
		names = append(names, reserveLine(database)...)
	}
	if len(names) > logReserve {
		names = nil
	}
	if os.WriteFile(path, append(names, make([]byte, logReserve-len(names))...), 0o600) != nil {
		_ = os.Remove(path)
	}
}

func reserveLine(database string) string { return filepath.Base(database) + "\n" }

func lists(reserve []byte, database string) bool {
	return postgres.IsURL(database) || bytes.HasPrefix(reserve, []byte(reserveLine(database))) || bytes.Contains(reserve, []byte("\n"+reserveLine(database)))
}

// errGone is logged by a hook that makes a new database in the place of one that is gone.
var errGone = errors.New("the database is gone, and a new one is made; `lcm db restore FILE` puts a backup in its place")

// wasHere reports whether a database file that does not exist is known to have existed.
func wasHere(database string) bool {
	if _, err := os.Lstat(database); !errors.Is(err, fs.ErrNotExist) || postgres.IsURL(database) {
		return false
	}
	reserve, err := os.ReadFile(reservePath(hookLog(database)))
	return err == nil && lists(reserve, database)
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
