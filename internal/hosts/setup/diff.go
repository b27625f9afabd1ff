package setup

import (
	"bytes"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff returns the change of the file as a unified diff.
func (c Change) Diff() string {
	name := func(exists bool) string {
		if exists {
			return c.Path
		}
		return "/dev/null"
	}
	after := c.After
	if c.Delete {
		after = nil
	}
	unix := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }
	text := string(diff.Diff(name(c.Exists), unix(c.Before), name(!c.Delete), unix(after)))
	_, text, _ = strings.Cut(text, "\n") // "diff old new"
	return text
}
