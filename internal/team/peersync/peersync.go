// Package peersync exchanges messages between the records of two machines of one person, over
// one connection (`lcm sync ssh://host`).
//
// The protocol is that of a team server: each machine pushes to the other what it has and the
// other has not, with package teamsync, and takes the other's pushes with package teamserver.
// Each says hello in one line, the one that was called first. Then that one answers HTTP requests on the
// connection, and the caller pushes to it. With its last request the caller takes its turn to
// answer, and the other machine pushes, and reports what it did.
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
	"math"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/guard"
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

// turn asks the other machine to push from now on.
type turn struct {
	Verify bool `json:"verify,omitempty"`
}

// protocol begins the line of hello. Its number changes when the two machines must have the same
// version.
const protocol = "lcm-sync/3"

// maxHello bounds what a machine may say before hello: shells greet too.
const maxHello = 64 << 10

// Start exchanges messages with the machine at the other end of a connection that it was
// called by. url names it in errors. An error is about the connection; the outcomes have
// those of the two pushes.
func (s Side) Start(ctx context.Context, r io.Reader, w io.WriteCloser, url string, verify bool) (other Hello, mine, theirs Outcome, err error) {
	c := newConnection(join(r, w, w.Close))
	defer c.Close() // and w, when all is written
	if other, err = s.greeted(c); err == nil {
		err = s.greet(c)
	}
	if err != nil {
		return other, mine, theirs, err
	}
	mine = s.Push(ctx, c.client(url), other, verify)
	if err = c.client(url).Post(ctx, teamsync.TurnPath, turn{verify}, &struct{}{}); err == nil {
		err = c.serve(ctx, s.Take(other), teamsync.DonePath, &theirs)
	} else if mine.Error != "" { // which says it
		err = nil
	}
	return other, mine, theirs, err
}

// Answer is the other machine's part of Start.
func (s Side) Answer(ctx context.Context, r io.Reader, w io.Writer) error {
	c := newConnection(join(r, w, nil))
	defer c.Close()
	if err := s.greet(c); err != nil {
		return err
	}
	other, err := s.greeted(c)
	if errors.Is(err, errNoHello) {
		return errEnded
	}
	if err != nil {
		return err
	}
	var q turn
	if err := c.serve(ctx, s.Take(other), teamsync.TurnPath, &q); err != nil {
		return err
	}
	client := c.client(teamsync.PeerScheme + other.Name)
	return client.Post(ctx, teamsync.DonePath, s.Push(ctx, client, other, q.Verify), &struct{}{})
}

// errEnded says that the connection ended before the exchange did.
var errEnded = hint.New("repeat `lcm sync`: it goes on from there", "the connection has ended too early")

// errNoAnswer says that the other machine lives and does not answer.
var errNoAnswer = hint.New("repeat `lcm sync`: it goes on from there", "the other machine has not answered for %v", answerTime)

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
func (s Side) greeted(c *connection) (other Hello, err error) {
	_ = c.SetReadDeadline(time.Now().Add(helloTime))
	other, err = readHello(c.in)
	_ = c.SetReadDeadline(time.Time{}) // if one of these fails, so does the next request
	if err == nil && other.Machine == s.Machine {
		err = errSame
	}
	return other, err
}

// helloTime is how long a machine may take to say hello, answerTime to answer a request, and idleTime
// to ask: it may have much to read.
const (
	helloTime  = 2 * time.Minute
	answerTime = time.Minute
	idleTime   = 10 * time.Minute
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
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return other, errSilent
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	return other, errNoHello
}

// connection is a connection over which requests are sent, and then answered, or the other way
// round, one after the other. An [http.Transport] would now and then open another one.
type connection struct {
	net.Conn
	limit *io.LimitedReader // of Conn
	in    *bufio.Reader     // of limit
}

// maxHeader bounds the header of a request and of an answer.
const maxHeader = 64 << 10

func newConnection(c net.Conn) *connection {
	limit := &io.LimitedReader{R: c, N: math.MaxInt64}
	return &connection{c, limit, bufio.NewReader(limit)}
}

// RoundTrip implements [http.RoundTripper].
func (c *connection) RoundTrip(r *http.Request) (*http.Response, error) {
	defer context.AfterFunc(r.Context(), func() { c.Close() })()
	var got *http.Response
	var body []byte
	err := r.Write(c)
	if err == nil {
		_ = c.SetReadDeadline(time.Now().Add(answerTime))
		c.limit.N = maxHeader
		got, err = http.ReadResponse(c.in, r)
		c.limit.N = math.MaxInt64
	}
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(got.Body, teamsync.MaxBody+1))
	}
	_ = c.SetDeadline(time.Time{}) // if one of these fails, so does the next request
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.Close()
		return nil, errNoAnswer
	}
	if err != nil {
		return nil, errors.Join(errEnded, r.Context().Err())
	}
	got.Body = io.NopCloser(bytes.NewReader(body))
	return got, nil
}

// Write implements [net.Conn]. The other machine may take as long as an answer for each part of p.
func (c *connection) Write(p []byte) (n int, err error) {
	for part := range slices.Chunk(p, 32<<10) {
		_ = c.SetWriteDeadline(time.Now().Add(answerTime))
		done, err := c.Conn.Write(part)
		if n += done; err != nil {
			return n, err
		}
	}
	return n, nil
}

// client returns a client that speaks over the connection. url names the other machine.
func (c *connection) client(url string) teamsync.Client {
	return teamsync.Client{URL: url, HTTP: &http.Client{Transport: c}}
}

// serve answers requests with h, until it has answered one for the path last, whose body it reads
// into value.
func (c *connection) serve(ctx context.Context, h http.Handler, last string, value any) error {
	defer context.AfterFunc(ctx, func() { c.Close() })()
	for {
		_ = c.SetDeadline(time.Now().Add(idleTime))
		c.limit.N = maxHeader
		r, err := http.ReadRequest(c.in)
		c.limit.N = math.MaxInt64
		if err != nil {
			return errors.Join(errEnded, ctx.Err())
		}
		a := &answer{connection: c, header: http.Header{}, code: http.StatusOK}
		if r.URL.Path == last {
			err = json.NewDecoder(io.LimitReader(r.Body, teamsync.MaxBody)).Decode(value)
			a.body.WriteString("{}")
		} else {
			if err := guard.Run(func() error { h.ServeHTTP(a, r.WithContext(ctx)); return nil }); err != nil {
				return err // it panicked
			}
		}
		// If one of these fails, so does the next request.
		_, _ = io.Copy(io.Discard, r.Body)
		_ = (&http.Response{StatusCode: a.code, ProtoMajor: 1, ProtoMinor: 1, Header: a.header, ContentLength: int64(a.body.Len()), Body: io.NopCloser(&a.body)}).Write(c)
		if r.URL.Path == last {
			_ = c.SetDeadline(time.Time{}) // the other machine may have hung up
			return err
		}
	}
}

// answer is the answer to a request, and has the deadlines of its connection.
type answer struct {
	*connection
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(code int) { a.code = code }

// Write implements [http.ResponseWriter].
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

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
