package sqldb

import (
	"context"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Error is an error of the database. Its message names neither the driver nor the
// statement: an operator has no use for them.
type Error struct {
	SQL     string // the statement, for a debugger; empty if there was none
	Err     error  // the driver's
	Message string // without the name of the driver
	// Fatal says that the database cannot be read, and not one statement.
	Fatal bool
	// Lost says that the connection was lost: a read can be repeated.
	Lost bool
}

// Error returns the message of the database.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the driver's error.
func (e *Error) Unwrap() error { return e.Err }

// FromDatabase reports whether an error came from the database, and not from the
// content that it stores.
func FromDatabase(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}

// ConnectionLost reports whether the connection was lost.
func ConnectionLost(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Lost
}

// Fatal tells an error of the database from a fault of one record.
func Fatal(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Fatal && !errors.Is(err, store.ErrNotFound)
}

// Damaged marks an error in stored content, as opposed to one of storing or
// reading, with [store.ErrDamaged] and a hint.
func Damaged(what string, err error) error {
	if err == nil || FromDatabase(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &hint.Error{
		Err:  fmt.Errorf("%s is %w: %w", what, store.ErrDamaged, err),
		Hint: "`lcm doctor` lists all damage; restore it from a backup",
	}
}

// WithoutHint returns the text of an error without its hint, for a fault that
// brings its own.
func WithoutHint(err error) string {
	if p, ok := errors.AsType[*hint.Error](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}
