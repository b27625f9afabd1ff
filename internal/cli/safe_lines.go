package cli

import (
	"bytes"
	"io"

	"github.com/lossless-context/lcm/internal/kit/safetext"
)

// safeLines writes what another machine says line by line, without what a terminal would act on.
type safeLines struct {
	to   io.Writer
	line []byte // that has not ended
}

// longestLine is how much of a line is kept until it ends.
const longestLine = 64 << 10

// Write implements [io.Writer].
func (s *safeLines) Write(p []byte) (int, error) {
	s.line = append(s.line, p...)
	end := bytes.LastIndexByte(s.line, '\n') + 1
	if len(s.line) > longestLine {
		end = len(s.line)
	}
	_, err := io.WriteString(s.to, safetext.Text(string(s.line[:end])))
	s.line = s.line[end:]
	return len(p), err
}

// Close writes a last line that has not ended.
func (s *safeLines) Close() error {
	if len(s.line) == 0 {
		return nil
	}
	_, err := s.Write([]byte("\n"))
	return err
}
