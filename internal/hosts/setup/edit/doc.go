// Package edit changes settings files of other programs as text: it sets, replaces or
// removes one entry and keeps every other byte, with comments, order, indentation and
// line endings.
//
// It edits JSON with comments ([JSON]) and TOML tables ([SetTable], [CutTable]). All functions are pure. An
// unreadable file is an error with its position. Every result is parsed before it is
// returned, so that no edit can leave a broken file.
package edit

import (
	"bytes"
	"fmt"
)

// Error is a parse error with its position.
type Error struct {
	Line, Column int // from 1; 0 if unknown
	Err          error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Err.Error()
	}
	if e.Column == 0 {
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// lineEnd returns the line ending of a text.
func lineEnd(src []byte) string {
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
