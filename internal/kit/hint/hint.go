// Package hint has the one error of this module that carries a hint: a sentence
// that says what the reader can do about the error.
package hint

import (
	"errors"
	"fmt"
	"strings"
)

// Error is an error with a hint.
type Error struct {
	Err  error
	Hint string // may be empty
	// Kind is an error that callers look for with [errors.Is]. It is not part
	// of the message. It may be nil.
	Kind error
}

// New returns an Error. The message is formatted as by [fmt.Errorf].
func New(hint, format string, args ...any) *Error {
	return &Error{Err: fmt.Errorf(format, args...), Hint: hint}
}

// Error returns the message and, after a semicolon, the hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + "; " + e.Hint
}

// Unwrap returns the error without its hint.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the kind of the error.
func (e *Error) Is(target error) bool { return e.Kind != nil && e.Kind == target }

// Split returns the message of an error without hints, and the outermost hint.
// The hint is empty if the error carries none.
func Split(err error) (message, hint string) {
	message = err.Error()
	for e := (*Error)(nil); errors.As(err, &e); err = e.Err {
		if e.Hint == "" {
			continue
		}
		message = strings.Replace(message, "; "+e.Hint, "", 1)
		if hint == "" {
			hint = e.Hint
		}
	}
	return message, hint
}
