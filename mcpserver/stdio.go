package mcpserver

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds one message of a client: no call is anywhere near as long.
const maxLine = 16 << 20

// grace is how long calls that are under way may take when the client closes
// its end, so that whoever pipes a few requests in gets the answers.
const grace = 1500 * time.Millisecond

// ServeStdio serves one client over a pair of pipes until it closes its end,
// or ctx ends. Nothing but the protocol is written to out. It returns within
// two seconds of either.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	closed := make(chan struct{})
	session, err := s.mcp.Connect(ctx, &mcp.IOTransport{
		Reader: &input{Reader: in, closed: closed}, Writer: output{out}, MaxLineLength: maxLine,
	}, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err := <-ended:
		return quiet(err)
	case <-ctx.Done():
	case <-closed:
		select {
		case err := <-ended:
			return quiet(err)
		case <-ctx.Done():
		case <-time.After(grace):
		}
	}
	cancel()
	s.end() // calls end with it
	go session.Close()
	select {
	case <-ended:
	case <-time.After(grace / 3):
		// A read from a terminal or a pipe that nobody closes cannot be
		// interrupted; the process is about to end.
	}
	return nil
}

// quiet leaves out the errors of a client that has gone away.
func quiet(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil
	}
	return err
}

// input notices the end of what a client sends.
type input struct {
	io.Reader
	closed chan struct{}
	done   bool
}

func (i *input) Read(b []byte) (int, error) {
	n, err := i.Reader.Read(b)
	if err != nil && !i.done {
		i.done = true
		close(i.closed)
	}
	return n, err
}

// Close implements [io.Closer]. The reader is the caller's.
func (i *input) Close() error {
	if c, ok := i.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

type output struct{ io.Writer }

// Close implements [io.Closer]. The writer is the caller's.
func (output) Close() error { return nil }
