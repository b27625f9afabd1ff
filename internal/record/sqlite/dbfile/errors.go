package dbfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/regularfile"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

func driverError(err error, sql string) error {
	if err == nil {
		return nil
	}
	fatal := isAny(err, sqlite3.CORRUPT, sqlite3.IOERR, sqlite3.INTERRUPT, sqlite3.NOTADB)
	return &sqldb.Error{SQL: sql, Err: err, Message: strings.TrimPrefix(err.Error(), "sqlite3: "), Fatal: fatal}
}

// Explain adds a hint for the operator to errors of the disk, the file and
// other processes.
func Explain(path string, err error) error {
	if err == nil {
		return nil
	}
	if _, known := errors.AsType[*hint.Error](err); known || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if isAny(err, store.ErrReadOnly, sqlite3.READONLY, syscall.EROFS) && !errors.Is(err, store.ErrReadOnly) {
		err = fmt.Errorf("%w (%w)", store.ErrReadOnly, err) // callers recognise it by one sentinel
	}
	if e, ok := errors.AsType[*sqldb.Error](err); ok && (strings.Contains(e.Message, "no such table") || strings.Contains(e.Message, "no such column")) {
		err = fmt.Errorf("%w: a part of its schema is missing (%w)", store.ErrDamaged, err)
		return &hint.Error{Err: fmt.Errorf("database %s is %w", path, err), Hint: mend}
	}
	for _, h := range hints {
		if isAny(err, h.causes...) {
			return &hint.Error{Err: fmt.Errorf("database %s: %w", path, err), Hint: h.hint}
		}
	}
	return err
}

// fullDisk are the errors of a full disk.
var fullDisk = []error{sqlite3.FULL, sqlite3.IOERR_SHMSIZE, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

const mend = "`lcm doctor --fix` makes a new database of all that can be read; or restore a backup"

// hints are the hints by cause. The first that fits is used.
var hints = []struct {
	causes []error
	hint   string
}{
	{[]error{sqlite3.NOTADB}, "the file is not an lcm database: choose another path; if it was one, " + mend},
	{[]error{sqlite3.CORRUPT}, "the file is damaged: " + mend},
	{fullDisk, "the disk is full: free some space and repeat the command; nothing was half-written"},
	{[]error{store.ErrReadOnly}, "make the file and its directory writable, or point LCM_DATABASE_PATH elsewhere"},
	{[]error{sqlite3.BUSY}, "another process has held the database for longer than busy_timeout_ms: wait for it or end it, then repeat the command"},
	{[]error{fs.ErrPermission}, "the file or its directory does not let this user in: change its owner or mode, or point LCM_DATABASE_PATH elsewhere"},
	{[]error{sqlite3.CANTOPEN, syscall.EISDIR, syscall.ENOTDIR, regularfile.ErrNotRegular}, "check that the path names a file, not a directory, and that its directory exists and is writable"},
	{[]error{sqlite3.IOERR}, "the disk is full or reported an error: see how much is free (df), then check the disk; keep the file's log (-wal) beside it: it has what the file may lack"},
}

func isAny(err error, causes ...error) bool {
	return slices.ContainsFunc(causes, func(cause error) bool { return errors.Is(err, cause) })
}

// Full reports whether an error means that the disk is full. Opening a database
// for writing needs room even to read it, unless another process has it open:
// its shared memory is a file of 32 kB. With [Options.ReadOnly] it can be read
// on a full disk.
func Full(err error) bool { return isAny(err, fullDisk...) }

// Busy reports whether an error means that another process has held the database for too long.
func Busy(err error) bool { return errors.Is(err, sqlite3.BUSY) }

// cancelled returns the error of the context where the driver only reports an
// interrupt.
func cancelled(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (errors.Is(err, sqlite3.INTERRUPT) || errors.Is(err, sqlite3.BUSY)) {
		return ctx.Err()
	}
	return err
}
