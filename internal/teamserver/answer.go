package teamserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm/internal/delegation"
	"github.com/lossless-context/lcm/internal/hint"
	"github.com/lossless-context/lcm/internal/ingest"
	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/scope"
	"github.com/lossless-context/lcm/internal/sqldb"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/teamsync"
)

// errBadRequest is the kind of errors that the client has to correct.
var errBadRequest = errors.New("the request is wrong")

// errBehind says that a batch does not follow the one before.
var errBehind = errors.New("the batch does not follow the messages that the server has")

// answer writes the answer to a request as JSON.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, answer any, err error) {
	if err == nil {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(answer) // the client has gone
		return
	}
	code := http.StatusInternalServerError
	switch {
	case errors.Is(err, scope.ErrDenied), errors.Is(err, ingest.ErrIgnored):
		code = http.StatusForbidden
	case errors.Is(err, store.ErrNotFound):
		code = http.StatusNotFound
	case errors.Is(err, errBehind), errors.Is(err, store.ErrConflict):
		code = http.StatusConflict
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
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(teamsync.Problem{Error: text, Hint: advice}) // the client has gone
}

// read decodes the body of a request.
func read[T any](r *http.Request) (request T, err error) {
	body := io.Reader(http.MaxBytesReader(nil, r.Body, teamsync.MaxBody))
	if r.Header.Get("Content-Encoding") == teamsync.Encoding {
		z, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(teamsync.MaxBody))
		if err != nil {
			return request, err
		}
		defer z.Close()
		body = io.LimitReader(z, teamsync.MaxBody)
	}
	if err := json.NewDecoder(body).Decode(&request); err != nil {
		return request, fmt.Errorf("%w: %w", errBadRequest, err)
	}
	return request, nil
}

// grep answers `lcm grep --team`.
func (c *client) grep(r *http.Request) (any, error) {
	q, err := read[recall.GrepRequest](r)
	if err != nil {
		return nil, err
	}
	svc, err := c.engine.Recall()
	if err != nil {
		return nil, err
	}
	q.AllConversations, q.Compact, q.OrWords = q.ConversationID == 0, true, q.Mode != store.FullText
	a, err := svc.Grep(r.Context(), q)
	return a, err
}

// describe answers `lcm describe --team`.
func (c *client) describe(r *http.Request) (any, error) {
	q, err := read[recall.DescribeRequest](r)
	if err != nil {
		return nil, err
	}
	svc, err := c.engine.Recall()
	if err != nil {
		return nil, err
	}
	q.AllConversations = q.ConversationID == 0
	a, err := svc.Describe(r.Context(), q)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(a)
	return teamsync.Described{Text: a.Text(), Answer: raw, Damaged: a.Damaged}, err
}

// ask answers `lcm ask --team`.
func (c *client) ask(r *http.Request) (any, error) {
	q, err := read[delegation.Request](r)
	if err != nil {
		return nil, err
	}
	q.AllConversations, q.Caller = q.ConversationID == 0, c.token.ID
	a, err := c.engine.Ask(r.Context(), q)
	if err != nil && !errors.Is(err, recall.ErrRefused) && !errors.Is(err, store.ErrNotFound) && r.Context().Err() == nil {
		err = fmt.Errorf("%w: %w", errBadRequest, err)
	}
	return a, err
}
