// Package peersync exchanges messages between the records of two machines of one person, over
// one connection (`lcm sync ssh://host`).
//
// The protocol is that of a team server: each machine pushes to the other what it has and the
// other has not, with package teamsync, and takes the other's pushes with package teamserver.
// Each says hello in one line, the one that was called first. Then that one serves HTTP on the connection, and
// the caller pushes to it. Then the caller asks for its turn to serve (a request that upgrades
// the connection), and the other machine pushes, and reports what it did.
//
// A connection may end at any point. Both machines know what they have of the other, so the
// next exchange goes on from there.
package peersync

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamsync"
)

// Hello is how a machine presents itself.
type Hello struct {
	Machine string `json:"machine"` // its random id
	Name    string `json:"name"`    // for people
	Version string `json:"version"` // of lcm
}

// Outcome says what one machine did.
type Outcome struct {
	Pushed   *teamsync.Report   `json:"pushed,omitempty"`
	Verified *teamsync.Verified `json:"verified,omitempty"`
	Error    string             `json:"error,omitempty"`
	Hint     string             `json:"hint,omitempty"`
}

// Side is one of two machines.
type Side struct {
	Hello
	// Take returns what answers the pushes of another machine.
	Take func(other Hello) http.Handler
	// Push pushes to another machine or, with verify, compares what was pushed.
	Push func(ctx context.Context, to teamsync.Client, other Hello, verify bool) Outcome
}

// turn asks the other machine to push, over the connection of the request.
type turn struct {
	Verify bool `json:"verify,omitempty"`
}

// protocol is what the connection is upgraded to, and begins the line of hello. Its number
// changes when the two machines must have the same version.
const protocol = "lcm-sync/2"

// maxHello bounds what a machine may say before hello: shells greet too.
const maxHello = 64 << 10

// Start exchanges messages with the machine at the other end of a connection that it was
// called by. url names it in errors. An error is about the connection; the outcomes have
// those of the two pushes.
func (s Side) Start(ctx context.Context, r io.Reader, w io.WriteCloser, url string, verify bool) (other Hello, mine, theirs Outcome, err error) {
	defer w.Close()
	in := bufio.NewReader(r)
	if other, err = s.greeted(in); err == nil {
		err = s.greet(w)
	}
	if err != nil {
		return other, mine, theirs, err
	}
	c := newConnection(join(in, w, w.Close))
	mine = s.Push(ctx, c.client(url), other, verify)
	err = s.askTurn(ctx, c.client(url), verify)
	if err != nil && mine.Error != "" {
		return other, mine, theirs, nil // which says it
	}
	if err != nil {
		return other, mine, theirs, err
	}
	reported := false
	mux := http.NewServeMux()
	mux.Handle("/", s.Take(other))
	mux.HandleFunc("POST "+teamsync.DonePath, func(w http.ResponseWriter, r *http.Request) {
		reported = json.NewDecoder(io.LimitReader(r.Body, teamsync.MaxBody)).Decode(&theirs) == nil
		_, _ = io.WriteString(w, "{}")
	})
	serve(ctx, c, mux, nil)
	if !reported {
		err = errors.Join(errEnded, ctx.Err())
	}
	return other, mine, theirs, err
}

// Answer is the other machine's part of Start.
func (s Side) Answer(ctx context.Context, r io.Reader, w io.Writer) error {
	if err := s.greet(w); err != nil {
		return err
	}
	in := bufio.NewReader(r)
	other, err := s.greeted(in)
	if errors.Is(err, errNoHello) {
		return errEnded
	}
	if err != nil {
		return err
	}
	var q turn
	var taken net.Conn
	turned := make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle("/", s.Take(other))
	mux.HandleFunc("POST "+teamsync.TurnPath, func(w http.ResponseWriter, r *http.Request) {
		err := json.NewDecoder(io.LimitReader(r.Body, maxHello)).Decode(&q)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if taken, _, err = http.NewResponseController(w).Hijack(); err != nil {
			return
		}
		// If this fails, so does the first request.
		_, _ = fmt.Fprintf(taken, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol)
		close(turned)
	})
	serve(ctx, join(in, w, nil), mux, turned)
	if taken == nil {
		return errEnded
	}
	defer taken.Close()
	client := newConnection(taken).client(teamsync.PeerScheme + other.Name)
	return client.Post(ctx, teamsync.DonePath, s.Push(ctx, client, other, q.Verify), &struct{}{})
}

// errEnded says that the connection ended before the exchange did.
var errEnded = hint.New("repeat `lcm sync`: it goes on from there", "the connection has ended too early")

// errNoHello says that there is no lcm at the other end, or one that does not know peers.
var errNoHello = errors.New("lcm does not answer")

// errSame says that both machines have the same id.
var errSame = hint.New("if you named this machine itself, name the other one; if its database is a copy of the other's, `lcm sync --new-id` here gives it an id of its own",
	"the other machine has the id of this one")

// greet says hello.
func (s Side) greet(w io.Writer) error {
	hello, err := json.Marshal(s.Hello)
	if err == nil {
		_, err = fmt.Fprintf(w, "%s %s\n", protocol, hello)
	}
	return err
}

// greeted reads the other machine's hello. It waits for a limited time: a person may have to type
// a password first.
func (s Side) greeted(in *bufio.Reader) (other Hello, err error) {
	read := make(chan func(), 1)
	go func() {
		h, e := readHello(in)
		read <- func() { other, err = h, e }
	}()
	select {
	case set := <-read:
		set()
	case <-time.After(helloTime):
		return other, errSilent
	}
	if err == nil && other.Machine == s.Machine {
		err = errSame
	}
	return other, err
}

// helloTime is how long a machine may take to say hello, and idleTime how long it may be silent
// after that: it may have much to read.
const (
	helloTime = 2 * time.Minute
	idleTime  = 10 * time.Minute
)

// errSilent says that the other machine does not say hello.
var errSilent = hint.New("try `ssh` to that machine first", "the other machine has said nothing for %v", helloTime)

// readHello reads lines up to that of the other machine.
func readHello(in *bufio.Reader) (other Hello, err error) {
	for size := 0; size < maxHello; {
		line, err := in.ReadSlice('\n')
		size += len(line)
		text, begins := strings.CutPrefix(string(line), "lcm-sync/")
		if begins && strings.HasPrefix(string(line), protocol+" ") {
			_, text, _ = strings.Cut(text, " ")
			if err := json.Unmarshal([]byte(text), &other); err != nil || !access.ValidName(other.Name) || !teamsync.ValidMachine(other.Machine) {
				return other, fmt.Errorf("%w: it says %q", errNoHello, prose.Clip(text, 200))
			}
			return other, nil
		}
		if begins {
			return other, hint.New("install the same version of lcm on both machines; `lcm version` tells it",
				"lcm there speaks %q, and this one %s", prose.Clip(strings.TrimSpace(string(line)), 200), protocol)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	return other, errNoHello
}

// askTurn has the other machine push, over the connection that it was asked by.
func (s Side) askTurn(ctx context.Context, c teamsync.Client, verify bool) error {
	body, err := json.Marshal(turn{verify})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+teamsync.TurnPath, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", protocol)
	got, err := c.HTTP.Do(r)
	if err != nil {
		return errors.Join(errEnded, ctx.Err())
	}
	if got.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the other machine does not push: %s", got.Status)
	}
	return nil
}

// connection is a connection that requests are sent over, one after the other. An
// [http.Transport] would now and then open another one.
type connection struct {
	net.Conn
	limit *io.LimitedReader // of Conn
	in    *bufio.Reader     // of limit
}

// maxHeader bounds the header of an answer.
const maxHeader = 64 << 10

func newConnection(c net.Conn) *connection {
	limit := &io.LimitedReader{R: c, N: math.MaxInt64}
	return &connection{c, limit, bufio.NewReader(limit)}
}

// Read implements [net.Conn], for a connection that was upgraded.
func (c *connection) Read(p []byte) (int, error) { return c.in.Read(p) }

// RoundTrip implements [http.RoundTripper].
func (c *connection) RoundTrip(r *http.Request) (*http.Response, error) {
	defer context.AfterFunc(r.Context(), func() { c.Close() })()
	if err := r.Write(c); err != nil {
		return nil, errors.Join(errEnded, r.Context().Err())
	}
	c.limit.N = maxHeader
	got, err := http.ReadResponse(c.in, r)
	c.limit.N = math.MaxInt64
	if err != nil {
		return nil, errors.Join(errEnded, r.Context().Err())
	}
	body, err := io.ReadAll(io.LimitReader(got.Body, teamsync.MaxBody+1))
	got.Body = io.NopCloser(bytes.NewReader(body))
	return got, err
}

// client returns a client that speaks over the connection. url names the other machine.
func (c *connection) client(url string) teamsync.Client {
	return teamsync.Client{URL: url, HTTP: &http.Client{Transport: c}}
}

// serve serves a connection until it is closed, ctx ends or the handler has taken it.
func serve(ctx context.Context, c net.Conn, h http.Handler, taken <-chan struct{}) {
	ended := make(chan struct{})
	once := sync.OnceFunc(func() { close(ended) })
	server := &http.Server{Handler: h, ReadHeaderTimeout: idleTime, IdleTimeout: idleTime, ErrorLog: log.New(io.Discard, "", 0), ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			once()
		}
	}}
	l := &listener{connections: make(chan net.Conn, 1), ended: make(chan struct{})}
	l.connections <- c
	go func() {
		select {
		case <-ended:
		case <-taken:
		case <-ctx.Done():
			c.Close()
		}
		close(l.ended)
	}()
	_ = server.Serve(l) // it says that the listener has ended
}

// listener has one connection.
type listener struct {
	connections chan net.Conn
	ended       chan struct{}
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.connections:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *listener) Close() error { return nil }

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return &net.UnixAddr{} }

// join makes a connection of two streams. It has deadlines, which pipes of a process have not
// everywhere. It ends when one of the streams does, and then calls end, if that is not nil.
func join(r io.Reader, w io.Writer, end func() error) net.Conn {
	near, far := net.Pipe()
	go func() {
		_, _ = io.Copy(far, r)
		far.Close()
	}()
	go func() {
		_, _ = io.Copy(w, far)
		if end != nil {
			_ = end() // it is closed, or the process at the other end has ended
		}
		far.Close()
	}()
	return near
}
