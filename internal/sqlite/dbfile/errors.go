package dbfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/hint"
	"github.com/lossless-context/lcm/internal/store"
)

// SQLError is an error of SQLite. Its message names neither the driver nor the
// statement: an operator has no use for them.
type SQLError struct {
	SQL string // the statement, for a debugger; empty if there was none
	Err error  // the driver's
}

// Error returns the message of SQLite.
func (e *SQLError) Error() string { return strings.TrimPrefix(e.Err.Error(), "sqlite3: ") }

// Unwrap returns the driver's error.
func (e *SQLError) Unwrap() error { return e.Err }

func driverError(err error, sql string) error {
	if err == nil {
		return nil
	}
	return &SQLError{SQL: sql, Err: err}
}

// Explain adds a hint for the operator to errors of the disk, the file and
// other processes.
func Explain(path string, err error) error {
	if err == nil {
		return nil
	}
	var known *hint.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	advice := ""
	switch {
	case errors.Is(err, sqlite3.NOTADB):
		advice = "the file is not an lcm database: choose another path, or restore it from a backup"
	case errors.Is(err, sqlite3.CORRUPT):
		advice = "the file is damaged: keep a copy of it and restore a backup"
	case Full(err):
		advice = "the disk is full: free some space and repeat the command; nothing was half-written"
	case errors.Is(err, store.ErrReadOnly), errors.Is(err, sqlite3.READONLY), errors.Is(err, syscall.EROFS):
		err = asReadOnly(err)
		advice = "make the file and its directory writable, or point LCM_DATABASE_PATH elsewhere"
	case errors.Is(err, sqlite3.BUSY):
		advice = "another process has held the database for longer than busy_timeout_ms: see what it is doing, then repeat the command"
	case errors.Is(err, fs.ErrPermission):
		advice = "the file or its directory does not let this user in: change its owner or mode, or point LCM_DATABASE_PATH elsewhere"
	case errors.Is(err, sqlite3.CANTOPEN), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR):
		advice = "check that the path names a file, not a directory, and that its directory exists and is writable"
	case errors.Is(err, sqlite3.IOERR):
		advice = "the disk is full or reported an error: see how much is free (df), then check the disk; nothing was half-written"
	default:
		return err
	}
	return &hint.Error{Err: fmt.Errorf("database %s: %w", path, err), Hint: advice}
}

// Full reports whether an error means that the disk is full. Opening a database
// for writing needs room even to read it, unless another process has it open:
// its shared memory is a file of 32 kB. With [Options.ReadOnly] it can be read
// on a full disk.
func Full(err error) bool {
	for _, cause := range []error{sqlite3.FULL, sqlite3.IOERR_SHMSIZE, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// asReadOnly lets callers recognise every read-only failure by one sentinel.
func asReadOnly(err error) error {
	if errors.Is(err, store.ErrReadOnly) {
		return err
	}
	return fmt.Errorf("%w (%w)", store.ErrReadOnly, err)
}

// cancelled returns the error of the context where the driver only reports an
// interrupt.
func cancelled(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (errors.Is(err, sqlite3.INTERRUPT) || errors.Is(err, sqlite3.BUSY)) {
		return ctx.Err()
	}
	return err
}

// Damaged marks an error in stored content, as opposed to one of storing or
// reading, with [store.ErrDamaged] and a hint.
func Damaged(what string, err error) error {
	if err == nil || errors.As(err, new(*sqlite3.Error)) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &hint.Error{
		Err:  fmt.Errorf("%s is %w: %w", what, store.ErrDamaged, err),
		Hint: "`lcm doctor` says what else is; restore it from a backup",
	}
}

// WithoutHint returns the text of an error without its hint, for a fault that
// brings its own.
func WithoutHint(err error) string {
	var p *hint.Error
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
