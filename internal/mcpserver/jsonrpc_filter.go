package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lineFilter passes only lines on that are JSON-RPC messages. The SDK closes the
// connection at the first line that is not, and the agent would lose its memory
// for the rest of its session.
type lineFilter struct {
	from io.Reader
	in   *bufio.Reader
	out  io.Writer // takes answers to refused requests
	log  *slog.Logger
	left []byte // the unread part of the current line
}

func newLineFilter(in io.Reader, out io.Writer, log *slog.Logger) *lineFilter {
	return &lineFilter{from: in, in: bufio.NewReaderSize(in, 64<<10), out: out, log: log}
}

// Read implements [io.Reader].
func (s *lineFilter) Read(p []byte) (int, error) {
	for len(s.left) == 0 {
		line, wrong, err := s.line()
		if err != nil && (err != io.EOF || len(line) == 0 && wrong == nil) {
			return 0, err
		}
		if wrong == nil {
			wrong = isMessage(line)
		}
		switch {
		case wrong != nil:
			s.refuse(line, wrong)
		case len(line) > 0:
			s.left = append(line, '\n')
		}
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}

// Close implements [io.Closer], so that a read that waits can be interrupted.
func (s *lineFilter) Close() error {
	if c, ok := s.from.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

var errLineTooLong = fmt.Errorf("it has more than %d bytes", maxLine)

// line reads a line and trims white space around it. It skips a line that is too
// long.
func (s *lineFilter) line() (line []byte, wrong, err error) {
	for {
		piece, err := s.in.ReadSlice('\n')
		if len(line)+len(piece) > maxLine {
			line, wrong = nil, errLineTooLong
		}
		if wrong == nil {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), wrong, err
		}
	}
}

// isMessage returns an error if a line is neither a message nor a batch of them.
func isMessage(line []byte) error {
	if len(line) == 0 {
		return nil
	}
	var batch []json.RawMessage
	if line[0] != '[' {
		batch = []json.RawMessage{line}
	} else if err := json.Unmarshal(line, &batch); err != nil {
		return err
	}
	if len(batch) == 0 {
		return errors.New("it is empty")
	}
	for _, one := range batch {
		if !json.Valid(one) {
			return errors.New("it is not JSON")
		}
		if _, err := jsonrpc.DecodeMessage(one); err != nil {
			return err
		}
	}
	return nil
}

// refuse logs a line that is not a message, and answers it if it has an id or is not JSON.
func (s *lineFilter) refuse(line []byte, wrong error) {
	s.log.Warn("the client sent a line that is not a message", "error", wrong)
	var asked struct {
		ID json.RawMessage `json:"id"`
	}
	code := jsonrpc.CodeInvalidRequest
	if !json.Valid(line) {
		code, asked.ID = jsonrpc.CodeParseError, json.RawMessage("null") // as JSON-RPC has it
	} else if json.Unmarshal(line, &asked) != nil || len(asked.ID) == 0 || !bytes.ContainsAny(asked.ID[:1], `"-0123456789`) {
		return
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": asked.ID,
		"error": map[string]any{"code": code, "message": "this is not a message of the protocol: " + wrong.Error()}})
	if err != nil {
		return
	}
	_, _ = s.out.Write(append(answer, '\n')) // the next read fails if the client has gone
}

// writer serialises writes. Close does nothing: the caller owns out.
type writer struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func (*writer) Close() error { return nil }
