package llms_test

import (
	"context"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lossless-context/lcm/llms"
)

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWatchHTTPForbidsLongWaits(t *testing.T) {
	const date = "Wed, 21 Oct 2026 06:28:00 GMT"
	tests := []struct {
		name   string
		status int
		header http.Header
		idle   time.Duration
		retry  string
	}{
		{"a short wait", 429, http.Header{"Retry-After": {"20"}}, time.Hour, ""},
		{"a long wait", 429, http.Header{"Retry-After": {"3600"}}, time.Hour, "false"},
		{"a long wait until a date", 503, http.Header{"Retry-After": {"Wed, 21 Oct 2026 07:28:00 GMT"}, "Date": {date}}, time.Hour, "false"},
		{"a short wait until a date", 503, http.Header{"Retry-After": {"Wed, 21 Oct 2026 06:28:10 GMT"}, "Date": {date}}, time.Hour, ""},
		{"longer than the call may be silent", 429, http.Header{"Retry-After": {"20"}}, 10 * time.Second, "false"},
		{"whatever the provider says about retries", 429, http.Header{"Retry-After": {"3600"}, "X-Should-Retry": {"true"}}, time.Hour, "false"},
		{"no limit of silence", 429, http.Header{"Retry-After": {"20"}}, 0, ""},
		{"no failure", 200, http.Header{"Retry-After": {"3600"}}, time.Hour, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client := llms.WatchHTTP(&http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: test.status, Header: test.header, Body: http.NoBody}, nil
			})})
			for range llms.GiveUpWhenIdle(t.Context(), "test", test.idle, func(ctx context.Context) iter.Seq2[llms.Event, error] {
				return func(func(llms.Event, error) bool) {
					if got := get(t, ctx, client).Header.Get("X-Should-Retry"); got != test.retry {
						t.Errorf("X-Should-Retry is %q", got)
					}
				}
			}) {
				t.Error("an event")
			}
		})
	}
}

func get(t *testing.T, ctx context.Context, client *http.Client) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://provider.invalid", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// drip is a body that gives one byte in a while.
type drip struct {
	*strings.Reader
	pause time.Duration
}

func (d drip) Read(p []byte) (int, error) {
	time.Sleep(d.pause)
	return d.Reader.Read(p[:1])
}

func (drip) Close() error { return nil }

// What arrives is a sign of life although it becomes no event.
func TestBytesAreSignsOfLife(t *testing.T) {
	for _, test := range []struct {
		pause time.Duration
		alive bool
	}{{time.Second, true}, {5 * time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			client := llms.WatchHTTP(&http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: drip{strings.NewReader("::::::::::"), test.pause}}, nil
			})})
			for _, err := range llms.GiveUpWhenIdle(t.Context(), "test", 3*time.Second, func(ctx context.Context) iter.Seq2[llms.Event, error] {
				return func(yield func(llms.Event, error) bool) {
					if _, err := io.ReadAll(get(t, ctx, client).Body); err != nil {
						t.Error(err)
					}
					yield(llms.Event{}, context.Cause(ctx))
				}
			}) {
				if alive := err == nil; alive != test.alive {
					t.Errorf("bytes every %v: %v", test.pause, err)
				}
			}
		})
	}
}
