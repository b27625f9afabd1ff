//go:build unix

package pgtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy stands between a client and a server, and cuts connections.
type Proxy struct {
	server string // path of the server's socket
	listen net.Listener

	mu   sync.Mutex
	open map[net.Conn]bool

	// lost replaces the next answer to COMMIT and what follows it, if it is not nil.
	lost atomic.Pointer[[]byte]
	// held is called when the next answer to COMMIT is held back, if it is not nil.
	held atomic.Pointer[func()]
}

// NewProxy starts a proxy for an address that [URL] returned, and returns the address of
// the same schema through the proxy.
func NewProxy(t testing.TB, address string) (*Proxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	dir := q.Get("host")
	if dir == "" {
		t.Skip("the server at LCM_TEST_POSTGRES has no socket whose connections could be cut")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{server: filepath.Join(dir, ".s.PGSQL.5432"), listen: l, open: map[net.Conn]bool{}}
	t.Cleanup(func() { _ = l.Close(); p.Cut() })
	go p.serve(context.WithoutCancel(t.Context()))
	q.Del("host")
	q.Set("sslmode", "disable")
	u.Host, u.RawQuery = l.Addr().String(), q.Encode()
	return p, u.String()
}

// Swallow makes the server's next answer to COMMIT get lost, with its connection.
func (p *Proxy) Swallow() { p.lost.Store(&[]byte{}) }

// Hold holds the server's next answer to COMMIT back, and calls fn then. The connection
// stays open until the client closes it.
func (p *Proxy) Hold(fn func()) { p.held.Store(&fn) }

// Terminate makes the server's next answer to COMMIT an error: an administrator ended
// the connection. The server sends it if the order arrives between commit and answer.
func (p *Proxy) Terminate() {
	fields := []byte("SFATAL\x00VFATAL\x00C57P01\x00Mterminating connection due to administrator command\x00\x00")
	answer := binary.BigEndian.AppendUint32([]byte{'E'}, uint32(4+len(fields)))
	answer = append(answer, fields...)
	p.lost.Store(&answer)
}

// Cut cuts all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
	clear(p.open)
}

func (p *Proxy) serve(ctx context.Context) {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		server, err := (&net.Dialer{}).DialContext(ctx, "unix", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.open[client], p.open[server] = true, true
		p.mu.Unlock()
		end := func() { _ = client.Close(); _ = server.Close() }
		go func() { _, _ = io.Copy(server, client); end() }()
		go func() { p.answers(client, server); end() }()
	}
}

// committed ends the server's answer to COMMIT, which begins with a letter and a length.
var committed = []byte("COMMIT\x00")

// answers passes on the server's messages.
func (p *Proxy) answers(client, server net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if at := bytes.Index(buf[:n], committed); at >= 5 {
			if lost := p.lost.Swap(nil); lost != nil {
				_, _ = client.Write(append(buf[:at-5:at-5], *lost...))
				return
			}
			if fn := p.held.Swap(nil); fn != nil {
				(*fn)()
				_, _ = io.Copy(io.Discard, server)
				return
			}
		}
		if _, werr := client.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}
