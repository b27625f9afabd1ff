// Package httpbody reads the bodies of requests within bounds of size, time and memory.
//
// A [Reader] reads the whole body before a request is handled. The memory of all bodies
// that are read or handled at a time comes from a [Pool]; a body that does not fit is
// refused, and its client may try again.
package httpbody

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Zstd is the content encoding that a [Reader] may unpack.
const Zstd = "zstd"

const (
	// Free is how much of every body is read in any case, so that ordinary requests
	// are answered while others use up a [Pool].
	Free = 64 << 10
	// Timeout is how long a client may take to send a body of up to Rate bytes. Each
	// further Rate bytes give it another second.
	Timeout = 30 * time.Second
	Rate    = 64 << 10
	// maxWindow bounds the memory of unpacking. Encoders use at most as much by default.
	maxWindow = 8 << 20
)

// Pool bounds the bytes beyond [Free] of all bodies that use it.
type Pool struct {
	Max  int64
	held atomic.Int64
}

// Reader reads bodies.
type Reader struct {
	Max     int64         // the bytes of one body, as sent and unpacked
	Timeout time.Duration // [Timeout] if 0
	Unpack  bool          // bodies may be packed with [Zstd]
	Pools   []*Pool
}

var (
	// ErrTooLarge says that a body has more bytes than [Reader.Max].
	ErrTooLarge = errors.New("the request is too large")
	// ErrBusy says that a body does not fit a [Pool] now.
	ErrBusy = errors.New("the server is reading as much as it holds: try again later")
	// ErrSlow says that a body did not arrive in time.
	ErrSlow = errors.New("the request did not arrive in time")
)

// Status returns the status code for an error of Read.
func Status(err error) int {
	switch {
	case errors.Is(err, ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrBusy):
		return http.StatusServiceUnavailable
	case errors.Is(err, ErrSlow):
		return http.StatusRequestTimeout
	}
	return http.StatusBadRequest
}

// Read reads the body of a request. release gives its memory back to the pools, and is
// called when the request is done.
func (b *Reader) Read(w http.ResponseWriter, r *http.Request) (content []byte, release func(), err error) {
	reserved := int64(0)
	release = func() { b.reserve(-reserved) }
	if r.ContentLength > b.Max {
		return nil, release, ErrTooLarge
	}
	sent := b.timed(w, r)
	defer func() {
		if sent.err != nil {
			err = sent.err
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = ErrSlow
		}
		if err == nil { // an answer may take longer than the question
			_ = sent.connection.SetReadDeadline(time.Time{}) // a connection of a test has none
		}
	}()
	body := io.Reader(sent)
	if b.Unpack && r.Header.Get("Content-Encoding") == Zstd {
		z, err := zstd.NewReader(sent, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, release, err
		}
		defer z.Close()
		body = z
	}
	piece := make([]byte, 32<<10)
	for {
		n, err := body.Read(piece)
		size := int64(len(content) + n)
		if size > b.Max {
			return nil, release, ErrTooLarge
		}
		if more := size - Free - reserved; more > 0 {
			if !b.reserve(more) {
				return nil, release, ErrBusy
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

// reserve takes n bytes of every pool, or none of any.
func (b *Reader) reserve(n int64) bool {
	for i, p := range b.Pools {
		if p.held.Add(n) > p.Max && n > 0 {
			for _, p := range b.Pools[:i+1] {
				p.held.Add(-n)
			}
			return false
		}
	}
	return true
}

// timedBody is a body as it is sent. Its deadline moves with the bytes that arrive.
type timedBody struct {
	io.Reader
	connection *http.ResponseController
	begun      time.Time
	timeout    time.Duration
	max, size  int64
	err        error
}

func (b *Reader) timed(w http.ResponseWriter, r *http.Request) *timedBody {
	t := &timedBody{Reader: r.Body, connection: http.NewResponseController(w), begun: time.Now(), timeout: b.Timeout, max: b.Max}
	if t.timeout == 0 {
		t.timeout = Timeout
	}
	t.extend()
	return t
}

func (t *timedBody) extend() {
	_ = t.connection.SetReadDeadline(t.begun.Add(t.timeout + time.Duration(t.size/Rate)*time.Second)) // a connection of a test has none
}

// Read implements [io.Reader].
func (t *timedBody) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	before := t.size / Rate
	if t.size += int64(n); t.size > t.max {
		err = ErrTooLarge
	}
	if t.size/Rate > before {
		t.extend()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		t.err = err
	}
	return n, err
}
