package teamserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/httpbody"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/scope"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/recall"
)

// errBadRequest is the kind of errors that the client has to correct.
var errBadRequest = errors.New("the request is wrong")

// errTooMuch is the kind of errors that a request has too much of something.
var errTooMuch = errors.New("the request has too much")

// errCrowded says that too many requests of a token are under way.
var errCrowded = errors.New("too many requests of this token are under way: try again later")

// errBehind says that a batch does not follow the one before.
var errBehind = errors.New("the batch does not follow the messages that the server has")

// answer writes the answer to a request as JSON.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, answer any, err error) {
	if err == nil {
		w.Header().Set("Cache-Control", "no-store")
		write(w, http.StatusOK, answer)
		return
	}
	code := http.StatusInternalServerError
	var unread *bodyError
	switch {
	case errors.Is(err, scope.ErrDenied), errors.Is(err, ingest.ErrIgnored):
		code = http.StatusForbidden
	case errors.Is(err, store.ErrNotFound):
		code = http.StatusNotFound
	case errors.Is(err, errBehind), errors.Is(err, store.ErrConflict):
		code = http.StatusConflict
	case errors.As(err, &unread):
		if code = httpbody.Status(unread.error); code == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "2")
		}
	case errors.Is(err, errTooMuch):
		code = http.StatusRequestEntityTooLarge
	case errors.Is(err, errCrowded):
		code = http.StatusTooManyRequests
		w.Header().Set("Retry-After", "2")
	case errors.Is(err, errBadRequest), errors.Is(err, recall.ErrRefused):
		code = http.StatusBadRequest
	case r.Context().Err() != nil:
		code = 499 // the client has gone
	default:
		s.config.Log.Error("a request failed", "path", r.URL.Path, "error", err)
		if err, _ = publicError(err); errors.Is(err, errDatabaseAway) {
			code = http.StatusServiceUnavailable
			w.Header().Set("Retry-After", "2")
		}
	}
	text, advice := hint.Split(err)
	refuse(w, code, text, advice)
}

var (
	// errDatabaseAway says that the database cannot be reached.
	errDatabaseAway = errors.New("its database does not answer: try again later")
	// errDatabase says that the database answered with an error.
	errDatabase = errors.New("its database failed: the server's log has the details")
)

// publicError returns an error as clients may see it, and whether that is another one.
// Errors of the database name its address and user: those are for the log.
func publicError(err error) (public error, changed bool) {
	switch {
	case sqldb.ConnectionLost(err):
		return errDatabaseAway, true
	case sqldb.FromDatabase(err):
		return errDatabase, true
	}
	return err, false
}

func refuse(w http.ResponseWriter, code int, text, advice string) {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		// The body was not read: without this, net/http would wait for it first.
		w.Header().Set("Connection", "close")
	}
	write(w, code, teamsync.Problem{Error: text, Hint: advice})
}

// write writes an answer. A client that does not read it loses the connection.
func write(w http.ResponseWriter, code int, answer any) {
	data, err := json.Marshal(answer)
	if err != nil {
		data, code = []byte(`{"error":"the answer cannot be written as JSON"}`), http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	limit := httpbody.Timeout + time.Duration(len(data)/httpbody.Rate)*time.Second
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit)) // the connection of a test has none
	_, _ = w.Write(append(data, '\n'))                                        // the client has gone
}

// decoded returns what serves a request from its body.
func decoded[T any](serve func(*client, context.Context, T) (any, error)) func(*client, context.Context, []byte) (any, error) {
	return func(c *client, ctx context.Context, body []byte) (any, error) {
		var request T
		if err := json.Unmarshal(body, &request); err != nil {
			return nil, fmt.Errorf("%w: %w", errBadRequest, err)
		}
		return serve(c, ctx, request)
	}
}

// grep answers `lcm grep --team`.
func (c *client) grep(ctx context.Context, q recall.GrepRequest) (any, error) {
	q.AllConversations, q.Compact, q.OrWords = q.ConversationID == 0, true, q.Mode != store.FullText
	return c.engine.Grep(ctx, q)
}

// describe answers `lcm describe --team`.
func (c *client) describe(ctx context.Context, q recall.DescribeRequest) (any, error) {
	q.AllConversations = q.ConversationID == 0
	a, err := c.engine.Describe(ctx, q)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(a)
	return teamsync.Described{Text: a.Text(), Answer: raw, Damaged: a.Damaged}, err
}

// ask answers `lcm ask --team`.
func (c *client) ask(ctx context.Context, q recall.Question) (any, error) {
	q.AllConversations, q.Caller = q.ConversationID == 0, c.token.ID
	a, err := c.engine.Ask(ctx, q)
	if err != nil && !errors.Is(err, recall.ErrRefused) && !errors.Is(err, store.ErrNotFound) && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", errBadRequest, err)
	}
	return a, err
}
