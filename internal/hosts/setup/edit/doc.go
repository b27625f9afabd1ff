// Package edit changes settings files of other programs as text: one entry is
// put in, replaced or taken out, and every other byte stays as it is, with the
// comments, the order, the indentation and the line endings that the file's
// owner gave it.
//
// It knows JSON with comments ([JSON]), TOML tables ([SetTable], [CutTable])
// and marked sections of plain text ([SetSection], [CutSection]). All functions
// are pure. What cannot be read is an error with its position, and what was
// edited is read again before it is returned, so that no edit can leave a file
// that its program does not understand.
package edit

import (
	"bytes"
	"fmt"
)

// Error says where in a file something could not be read.
type Error struct {
	Line, Column int // from 1; 0 where that is not known
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

// Unwrap returns what is wrong there.
func (e *Error) Unwrap() error { return e.Err }

// lineEnd is how the lines of a text end.
func lineEnd(src []byte) string {
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// replace puts text in the place of src[from:to].
func replace(src []byte, from, to int, text string) []byte {
	out := make([]byte, 0, len(src)-(to-from)+len(text))
	out = append(out, src[:from]...)
	out = append(out, text...)
	return append(out, src[to:]...)
}
