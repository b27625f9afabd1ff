package teamserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/httpbody"
	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/record/scope"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamsync"
)

// The bounds of requests. A request costs up to five times its bytes in memory.
const (
	maxQuestion = 1 << 20 // of searches, questions, the status of sources, and calls of MCP
	maxNumbers  = 8 << 20 // of lists of message numbers: about a million
	// maxBodies bounds the bodies of all tokens together, and maxTokenBodies those of
	// one token.
	maxBodies      = teamsync.MaxBody * 3 / 2
	maxTokenBodies = teamsync.MaxBody
	// maxRequests is how many requests of a token are handled at a time. Others wait
	// for up to slotTime.
	maxRequests = 8
	slotTime    = 30 * time.Second
	// requestTime is the longest that a request is handled, but for an erasure, which
	// rewrites the database.
	requestTime = 10 * time.Minute
)

// route is a request of package teamsync.
type route struct {
	serve func(c *client, ctx context.Context, body []byte) (any, error)
	max   int64 // bytes of its body
	// may returns an error if the token does not allow the request. It is checked
	// before the body is read.
	may func(access.Token) error
	// long says that the request may take longer than requestTime.
	long bool
}

var routes = map[string]route{
	teamsync.GrepPath:     {serve: decoded((*client).grep), max: maxQuestion},
	teamsync.AskPath:      {serve: decoded((*client).ask), max: maxQuestion},
	teamsync.DescribePath: {serve: decoded((*client).describe), max: maxQuestion},
	teamsync.StatusPath:   {serve: decoded((*client).status), max: maxQuestion},
	teamsync.PushPath:     {serve: decoded((*client).push), max: teamsync.MaxBody, may: mayAppend},
	teamsync.ErasePath:    {serve: decoded((*client).erase), max: maxNumbers, may: mayErase, long: true},
	teamsync.VerifyPath:   {serve: decoded((*client).verify), max: maxNumbers},
}

func mayAppend(t access.Token) error {
	if t.Append {
		return nil
	}
	return fmt.Errorf("adding messages with this token is %w", scope.ErrDenied)
}

func mayErase(t access.Token) error {
	if t.Erase {
		return nil
	}
	return hint.New("ask for a token with --erase, or have somebody forget it on the server", "erasing with this token is %w", scope.ErrDenied)
}

// handle answers a request of a token: rights first, then the body.
func (f route) handle(c *client, w http.ResponseWriter, r *http.Request) (any, error) {
	if f.may != nil {
		if err := f.may(c.token); err != nil {
			return nil, err
		}
	}
	bodies := httpbody.Reader{Max: f.max, Timeout: c.config.BodyTimeout, Unpack: true, Pools: c.pools}
	content, release, err := bodies.Read(w, r)
	defer release()
	if err != nil {
		return nil, &bodyError{err}
	}
	ctx := r.Context()
	if !f.long {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTime)
		defer cancel()
	}
	return f.serve(c, ctx, content)
}

// bodyError is an error of reading a body.
type bodyError struct{ error }

// take waits for one of the token's places for requests, and returns the function that
// gives it back.
func (c *client) take(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, slotTime)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		return func() { <-c.slots }, nil
	case <-ctx.Done():
		return nil, errCrowded
	}
}

// bounded sets the time for the header and the body of every request, also of one that is
// refused before its body is read: the server reads a rest of it to use the connection
// again.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connection := http.NewResponseController(w)
		// The connection of a test has no deadlines.
		_ = connection.SetReadDeadline(time.Now().Add(httpbody.Timeout))
		_ = connection.SetWriteDeadline(time.Time{}) // that of the answer before
		next.ServeHTTP(w, r)
	})
}

// The answers to wrong tokens: one each wrongEvery, and none later than after wrongMost.
const (
	wrongEvery = 100 * time.Millisecond
	wrongMost  = 10 * time.Second
)

// brake slows the answers to requests with a wrong token. All of them share one queue,
// whatever address they come from, and a request with a valid token is never in it: nobody
// can lock others out.
type brake struct {
	mu   sync.Mutex
	next time.Time
}

// delay returns how long the next answer waits.
func (b *brake) delay(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next.Before(now) {
		b.next = now
	}
	if limit := now.Add(wrongMost - wrongEvery); b.next.After(limit) {
		b.next = limit
	}
	b.next = b.next.Add(wrongEvery)
	return b.next.Sub(now)
}

// check returns the token of a request. An error about a wrong one is delayed, but not
// when the server drains.
func (s *Server) check(r *http.Request) (access.Token, error) {
	t, err := s.tokens.Check(r.Context(), mcpserver.Bearer(r))
	if errors.Is(err, access.ErrInvalid) {
		wait := time.NewTimer(s.wrong.delay(time.Now()))
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-r.Context().Done():
		case <-s.serving.Done():
		}
	}
	return t, err
}
