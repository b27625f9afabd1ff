package mcpserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds one message of a client: no call is anywhere near as long.
const maxLine = 16 << 20

// grace is how long running calls may take after the client has closed its end,
// so that a script that pipes a few requests in gets its answers.
const grace = 1500 * time.Millisecond

// ServeStdio serves one client over a pair of pipes until the client closes its
// end or ctx ends, and then ends the server. It writes only protocol messages to
// out, and returns within two seconds of either end.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	defer s.end() // ends running calls
	session, err := s.mcp.Connect(ctx, &pipes{in: in, out: out, end: s.end, log: s.config.Log}, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err := <-ended:
		return gone(err)
	case <-ctx.Done():
	}
	s.end()
	go session.Close()
	select {
	case <-ended:
	case <-time.After(grace / 3):
		// A read from a pipe that nobody closes cannot be interrupted, and the
		// process is about to exit.
	}
	return nil
}

// ServeNothing is ServeStdio of a server without tools. A host that has lcm as a plugin and in its
// settings starts both, and the plugin's is to add nothing.
func ServeNothing(ctx context.Context, in io.Reader, out io.Writer, c Config) error {
	s := &Server{config: c, mcp: mcp.NewServer(&mcp.Implementation{Name: "lcm", Version: c.Version}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})}
	s.lifetime, s.end = context.WithCancel(ctx)
	return s.ServeStdio(ctx, in, out)
}

// gone drops errors that only say that the client has gone.
func gone(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil
	}
	return err
}

// pipes is a transport that waits for pending answers before it reports the end
// of the input: the SDK would drop them.
type pipes struct {
	in  io.Reader
	out io.Writer
	end context.CancelFunc // cancels calls that are still running then
	log *slog.Logger
}

// Connect implements [mcp.Transport].
func (p *pipes) Connect(ctx context.Context) (mcp.Connection, error) {
	out := &writer{out: p.out}
	under, err := (&mcp.IOTransport{Reader: newLineFilter(p.in, out, p.log), Writer: out, MaxLineLength: maxLine + 1}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &pending{Connection: under, end: p.end, open: map[jsonrpc.ID]bool{}, closed: make(chan struct{})}, nil
}

// pending is a connection that tracks the requests without an answer.
type pending struct {
	mcp.Connection
	end    context.CancelFunc
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex
	open map[jsonrpc.ID]bool
	idle chan struct{} // closed when open becomes empty; nil until drain waits
}

// Read implements [mcp.Connection].
func (p *pending) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := p.Connection.Read(ctx)
	if err != nil {
		p.drain(ctx)
		return m, err
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		p.mu.Lock()
		p.open[r.ID] = true
		p.mu.Unlock()
	}
	return m, err
}

// Write implements [mcp.Connection].
func (p *pending) Write(ctx context.Context, m jsonrpc.Message) error {
	err := p.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		p.mu.Lock()
		delete(p.open, r.ID)
		if len(p.open) == 0 && p.idle != nil {
			close(p.idle)
			p.idle = nil
		}
		p.mu.Unlock()
	}
	return err
}

// Close implements [mcp.Connection].
func (p *pending) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Connection.Close()
}

// drain waits up to grace until every request has its answer.
func (p *pending) drain(ctx context.Context) {
	p.mu.Lock()
	if len(p.open) == 0 {
		p.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	p.idle = idle
	p.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	case <-p.closed:
	case <-time.After(grace):
		p.end()
	}
}
