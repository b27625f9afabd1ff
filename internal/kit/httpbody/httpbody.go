// Package httpbody reads the bodies of requests within bounds of size, time and memory.
//
// A [Reader] reads the whole body before a request is handled. The bytes of all bodies that
// are read or handled at a time come from weighted semaphores. A body that does not fit
// waits, and is refused if that takes too long: its client may try again.
package httpbody

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/semaphore"
)

// Zstd is the content encoding that a [Reader] may unpack.
const Zstd = "zstd"

const (
	// Free is the size up to which a body does not wait, so that ordinary requests are
	// answered while others use up the memory.
	Free = 64 << 10
	// Timeout is how long a body waits for memory, and how long a client may take to send
	// one of up to Rate bytes. Each further Rate bytes give it another second.
	Timeout = 30 * time.Second
	Rate    = 64 << 10
	// MaxWindow is the largest window of a packed body: unpacking takes that much memory.
	MaxWindow = 2 << 20
)

// Reader reads bodies.
type Reader struct {
	Max     int64         // the bytes of one body, as sent and unpacked
	Timeout time.Duration // [Timeout] if 0
	Unpack  bool          // bodies may be packed with [Zstd]
	// Pools bound the bytes of all bodies that use them.
	Pools []*semaphore.Weighted
}

var (
	// ErrTooLarge says that a body has more bytes than [Reader.Max], or than its header
	// says.
	ErrTooLarge = errors.New("the request is too large")
	// ErrBusy says that a body did not fit the pools in time.
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
	release = func() {}
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
	body, size := io.Reader(sent), r.ContentLength
	if b.Unpack && r.Header.Get("Content-Encoding") == Zstd {
		packed := bufio.NewReader(sent)
		size = unpackedSize(packed)
		z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(MaxWindow))
		if err != nil {
			return nil, release, err
		}
		defer z.Close()
		body = z
	}
	if size < 0 {
		size = b.Max
	}
	if size > b.Max {
		return nil, release, ErrTooLarge
	}
	if size > Free {
		if release, err = b.reserve(r.Context(), size, sent.timeout); err != nil {
			return nil, release, err
		}
		sent.begin()
	}
	read := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := read.ReadFrom(io.LimitReader(body, size+1)); err != nil {
		return nil, release, err
	}
	if int64(read.Len()) > size {
		return nil, release, ErrTooLarge
	}
	return read.Bytes(), release, nil
}

// unpackedSize returns the size that the header of a packed body names, or -1.
func unpackedSize(packed *bufio.Reader) int64 {
	head, _ := packed.Peek(zstd.HeaderMaxSize) // a shorter body is decoded or refused below
	var h zstd.Header
	if h.Decode(head) != nil || !h.HasFCS {
		return -1
	}
	return int64(min(h.FrameContentSize, 1<<62))
}

// reserve takes n bytes of every pool, and waits for them.
func (b *Reader) reserve(ctx context.Context, n int64, wait time.Duration) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	held := 0
	release = func() {
		for _, p := range b.Pools[:held] {
			p.Release(n)
		}
	}
	for _, p := range b.Pools {
		if p.Acquire(ctx, n) != nil {
			release()
			return func() {}, ErrBusy
		}
		held++
	}
	return release, nil
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
	t := &timedBody{Reader: r.Body, connection: http.NewResponseController(w), timeout: cmp.Or(b.Timeout, Timeout), max: b.Max}
	t.begin()
	return t
}

// begin starts the time anew.
func (t *timedBody) begin() {
	t.begun = time.Now()
	t.extend()
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
