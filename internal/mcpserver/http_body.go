package mcpserver

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// Bounds of request bodies. A hundred clients that each sent eight megabytes
// slowly took close to a gigabyte of memory.
const (
	// freeBody is how much of every body is read in any case, so that ordinary
	// calls are answered while others use up maxBodies.
	freeBody = 64 << 10
	// maxBodies bounds the bytes beyond freeBody of all bodies together.
	maxBodies = 2 * maxLine
	// bodyTimeout is how long a client may take to send a body.
	bodyTimeout = 30 * time.Second
)

// bodyReader reads the whole body of a request before it is handled, within a
// time, and bounds the memory of all bodies together.
type bodyReader struct {
	timeout time.Duration
	held    atomic.Int64 // bytes beyond freeBody, of all requests
}

func (b *bodyReader) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		content, release, err := b.read(w, r)
		defer release()
		switch {
		case errors.Is(err, errBodyTooLarge):
			http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
		case errors.Is(err, errBodiesTooLarge):
			w.Header().Set("Retry-After", "5")
			http.Error(w, "the server is reading as much as it holds: try again later", http.StatusServiceUnavailable)
		case errors.Is(err, os.ErrDeadlineExceeded):
			http.Error(w, "the request did not arrive in time", http.StatusRequestTimeout)
		case err != nil:
			http.Error(w, "the request could not be read", http.StatusBadRequest)
		default:
			r.Body = io.NopCloser(bytes.NewReader(content))
			next.ServeHTTP(w, r)
		}
	})
}

var (
	errBodyTooLarge   = errors.New("the body is too large")
	errBodiesTooLarge = errors.New("all bodies together are too large")
)

// read reads a body. release returns the memory that is reserved for it.
func (b *bodyReader) read(w http.ResponseWriter, r *http.Request) (content []byte, release func(), err error) {
	reserved := int64(0)
	release = func() { b.held.Add(-reserved) }
	if r.ContentLength > maxLine {
		return nil, release, errBodyTooLarge
	}
	connection := http.NewResponseController(w)
	if connection.SetReadDeadline(time.Now().Add(b.timeout)) == nil {
		defer func() {
			if err == nil { // an answer may take longer than the question
				err = connection.SetReadDeadline(time.Time{})
			}
		}()
	}
	piece := make([]byte, 32<<10)
	for {
		n, err := r.Body.Read(piece)
		size := int64(len(content) + n)
		if size > maxLine {
			return nil, release, errBodyTooLarge
		}
		if more := size - freeBody - reserved; more > 0 {
			if b.held.Add(more) > maxBodies {
				b.held.Add(-more)
				return nil, release, errBodiesTooLarge
			}
			reserved += more
		}
		content = append(content, piece[:n]...)
		if errors.Is(err, io.EOF) {
			return content, release, nil
		}
		if err != nil {
			return nil, release, err
		}
	}
}
