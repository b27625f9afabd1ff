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

// at adds the position to an error of a file.
func at(line, column int, problem string) error {
	return fmt.Errorf("line %d, column %d: %s", line, column, problem)
}

// lineEnd returns the line ending of a text.
func lineEnd(src []byte) string {
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
