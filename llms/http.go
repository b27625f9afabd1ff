package llms

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// longestRetryWait is how long a model waits before it tries again. A
// provider that asks for more has used up a limit, and only the caller can
// know whether an hour's wait is worth while.
const longestRetryWait = 30 * time.Second

// WatchHTTP returns a client like c for the SDK behind a model. It does two
// things that SDKs do not.
//
// Every byte that arrives is a sign of life for [GiveUpWhenIdle]: pings and
// the pieces of a tool call's arguments become no events, and yet the provider
// is not silent.
//
// And an answer that asks to wait longer than 30 seconds, or than the call may
// be silent, is told not to be retried: SDKs sleep for as long as the server
// says.
func WatchHTTP(c *http.Client) *http.Client {
	watched := *c
	watched.Transport = watchTransport{c.Transport}
	return &watched
}

type watchTransport struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t watchTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	answer, err := next.RoundTrip(r)
	if err != nil {
		return answer, err
	}
	limit := longestRetryWait
	if life, ok := r.Context().Value(lifeKey{}).(signOfLife); ok {
		life.sign()
		limit = min(limit, life.idle)
		answer.Body = watchBody{answer.Body, life}
	}
	if answer.StatusCode >= 400 && retryAfter(answer.Header) > limit {
		answer.Header.Set("X-Should-Retry", "false") // both SDKs heed it
	}
	return answer, nil
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] reach the
// transport below.
func (t watchTransport) CloseIdleConnections() {
	if below, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		below.CloseIdleConnections()
	}
}

// watchBody signs for whatever is read from it.
type watchBody struct {
	io.ReadCloser
	life signOfLife
}

func (b watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.life.sign()
	}
	return n, err
}

type lifeKey struct{}

// signOfLife is the key of the function that the reader of a connection calls when
// bytes have come.
type signOfLife struct {
	idle time.Duration // how long the connection may be silent
	sign func()
}

// retryAfter reads how long a provider asks to wait, in any of the forms in
// use: milliseconds, seconds, and a date. A date counts from the answer's own,
// since the two clocks may differ.
func retryAfter(h http.Header) time.Duration {
	if wait := positive(h.Get("Retry-After-Ms"), time.Millisecond); wait > 0 {
		return wait
	}
	if wait := positive(h.Get("Retry-After"), time.Second); wait > 0 {
		return wait
	}
	until, err := http.ParseTime(h.Get("Retry-After"))
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, until.Sub(now))
}

// positive reads a number of units above zero; anything else is 0.
func positive(text string, unit time.Duration) time.Duration {
	const longest = 365 * 24 * time.Hour      // more would not fit a Duration, and says no more
	number, _ := strconv.ParseFloat(text, 64) // 0 where it is none, infinite where it is too large
	if !(number > 0) {
		return 0
	}
	return time.Duration(min(number*float64(unit), float64(longest)))
}
