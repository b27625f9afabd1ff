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

// sieve lets only lines through that are messages. The SDK ends the connection
// at the first that is none, and the agent would be without its memory for the
// rest of its session.
type sieve struct {
	from io.Reader
	in   *bufio.Reader
	out  io.Writer // for answers to requests that are not let through
	log  *slog.Logger
	left []byte // of a line that is being read
}

func newSieve(in io.Reader, out io.Writer, log *slog.Logger) *sieve {
	return &sieve{from: in, in: bufio.NewReaderSize(in, 64<<10), out: out, log: log}
}

// Read implements [io.Reader].
func (s *sieve) Read(p []byte) (int, error) {
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
func (s *sieve) Close() error {
	if c, ok := s.from.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

var errLineTooLong = fmt.Errorf("it has more than %d bytes", maxLine)

// line reads a line without the white space around it. One that is too long is
// passed over.
func (s *sieve) line() (line []byte, wrong, err error) {
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

// isMessage says what keeps a line from being a message, or a batch of them.
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

// refuse answers what is no message, if it can be told what the answer is to.
func (s *sieve) refuse(line []byte, wrong error) {
	s.log.Warn("the client sent a line that is no message", "error", wrong)
	var asked struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(line, &asked) != nil || len(asked.ID) == 0 || !bytes.ContainsAny(asked.ID[:1], `"-0123456789`) {
		return
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": asked.ID,
		"error": map[string]any{"code": jsonrpc.CodeInvalidRequest, "message": "this is no message of the protocol: " + wrong.Error()}})
	if err != nil {
		return
	}
	_, _ = s.out.Write(append(answer, '\n')) // a client that is gone is noticed elsewhere
}

// writer keeps lines apart, and leaves what it writes to to be closed by its
// owner.
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
