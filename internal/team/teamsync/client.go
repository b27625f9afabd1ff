package teamsync

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/httpbody"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/recall"
)

// Client speaks with a team server.
type Client struct {
	URL   string // of the server, like https://lcm.example
	Token string
	HTTP  *http.Client // http.DefaultClient where nil
}

// Check reports settings with which no request can be made.
func (c Client) Check() error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return hint.New("it looks like https://lcm.example or http://127.0.0.1:8766", "sync.url is %q", prose.Clip(c.URL, 80))
	}
	if c.Token == "" {
		return hint.New("`lcm team token add` on the server makes one", "sync.token is not set")
	}
	return nil
}

// RequestError is a request that the server refused.
type RequestError struct {
	Server string // its URL
	Code   int
	Problem
}

func (e *RequestError) Error() string {
	if strings.HasPrefix(e.Server, PeerScheme) {
		return e.Server + " says: " + e.Problem.Error
	}
	return "the server " + e.Server + " says: " + e.Problem.Error
}

// PeerScheme begins the address of another machine of the same person.
const PeerScheme = "ssh://"

// refusedWith reports whether an error is the server's answer with a status code.
func refusedWith(err error, code int) bool {
	var r *RequestError
	return errors.As(err, &r) && r.Code == code
}

// tries is how often a request is sent that got no answer. Every request may be repeated:
// a batch that was stored is not stored again.
const tries = 3

// Post sends a request as JSON and decodes the answer.
func (c Client) Post(ctx context.Context, path string, request, answer any) error {
	sent, err := marshal(request)
	if err != nil {
		return err
	}
	if len(sent) > MaxBody {
		return &RequestError{c.URL, http.StatusRequestEntityTooLarge, Problem{Error: fmt.Sprintf("a message of %s is too large: a request may have %s", prose.Size(int64(len(sent))), prose.Size(MaxBody))}}
	}
	packed := path == PushPath
	if packed {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(httpbody.MaxWindow))
		if err != nil {
			return err
		}
		sent = z.EncodeAll(sent, nil)
	}
	ctx, cancel := context.WithTimeout(ctx, limits[path].time+time.Duration(len(sent)/httpbody.Rate)*time.Second)
	defer cancel()
	wait := time.Duration(0)
	for range tries {
		select {
		case <-ctx.Done():
			return cmp.Or(err, ctx.Err())
		case <-time.After(wait):
		}
		var later time.Duration
		if later, err = c.send(ctx, path, sent, packed, answer); later == 0 {
			return err
		}
		wait = max(later, wait+shortWait)
	}
	return err
}

// shortWait is how long a request waits before it is sent again, and maxWait the longest
// that a server may ask for.
const (
	shortWait = 300 * time.Millisecond
	maxWait   = 5 * time.Second
)

// answerTime is how long an answer may take to arrive after its header.
const answerTime = 30 * time.Second

var errSlow = fmt.Errorf("it did not arrive within %v", answerTime)

// maxProblem is how many characters of a server's refusal are shown.
const maxProblem = 1000

// send sends a request once. later is not zero if it may succeed after that time.
func (c Client) send(ctx context.Context, path string, body []byte, packed bool, answer any) (later time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(c.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+c.Token)
	r.Header.Set("Content-Type", "application/json")
	if packed {
		r.Header.Set("Content-Encoding", Encoding)
	}
	var client http.Client
	if c.HTTP != nil {
		client = *c.HTTP
	}
	// The token and the messages are for this server alone.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	got, err := client.Do(r)
	if err != nil {
		advice := "everything stays on this machine; `lcm sync` pushes it later"
		if path == GrepPath || path == AskPath || path == DescribePath {
			advice = "without --team the record of this machine answers; sync.url names the server"
		}
		if strings.HasPrefix(c.URL, PeerScheme) {
			return 0, hint.New("repeat `lcm sync`: it goes on from there", "the connection to %s has ended: %w", c.URL, err)
		}
		return unlessEnded(ctx), &hint.Error{Err: fmt.Errorf("the team server cannot be reached: %w", err), Hint: advice}
	}
	defer got.Body.Close()
	defer time.AfterFunc(answerTime, func() { cancel(errSlow) }).Stop()
	text, err := io.ReadAll(io.LimitReader(got.Body, limits[path].bytes+1))
	if err != nil {
		return unlessEnded(ctx), fmt.Errorf("read the server's answer: %w", cmp.Or(context.Cause(ctx), err))
	}
	if int64(len(text)) > limits[path].bytes {
		return 0, fmt.Errorf("the server's answer has more than %s", prose.Size(limits[path].bytes))
	}
	if to := got.Header.Get("Location"); to != "" && got.StatusCode/100 == 3 {
		return 0, hint.New("if that is your server, set sync.url to it", "the server %s sends requests on to %q, and lcm does not follow", c.URL, prose.Clip(to, 200))
	}
	if got.StatusCode != http.StatusOK {
		return c.refusal(got, text)
	}
	if _, err := wire.Members(text); err != nil { // which also bounds how much it unpacks to
		return 0, fmt.Errorf("the server's answer: %w", err)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return 0, fmt.Errorf("the server's answer: %w", err)
	}
	if string(bytes.TrimSpace(text)) == "null" {
		return 0, fmt.Errorf("%w: it is null", errAnswer)
	}
	return 0, nil
}

// refusal returns the error that a server answered with.
func (c Client) refusal(got *http.Response, text []byte) (later time.Duration, err error) {
	e := &RequestError{Server: c.URL, Code: got.StatusCode}
	if json.Unmarshal(text, &e.Problem) != nil || e.Problem.Error == "" {
		e.Problem.Error = fmt.Sprintf("%s, and it does not look like `lcm team serve`", got.Status)
	}
	e.Problem.Error = prose.Clip(e.Problem.Error, maxProblem)
	err = e
	if e.Hint != "" {
		err = &hint.Error{Err: e, Hint: "the server's hint: " + prose.Clip(e.Hint, maxProblem)}
	}
	if got.StatusCode >= 500 || got.StatusCode == http.StatusTooManyRequests {
		seconds, _ := strconv.Atoi(got.Header.Get("Retry-After"))
		later = min(max(shortWait, time.Duration(min(seconds, 60))*time.Second), maxWait)
	}
	return later, err
}

// unlessEnded returns shortWait, or 0 if ctx has ended.
func unlessEnded(ctx context.Context) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	return shortWait
}

// Grep searches the team's record.
func (c Client) Grep(ctx context.Context, q recall.GrepRequest) (a recall.GrepAnswer, err error) {
	if err := c.Post(ctx, GrepPath, q, &a); err != nil {
		return a, err
	}
	return a, checkFound(a)
}

// Describe shows one thing of the team's record.
func (c Client) Describe(ctx context.Context, q recall.DescribeRequest) (a Described, err error) {
	return a, c.Post(ctx, DescribePath, q, &a)
}

// Ask asks the team's record.
func (c Client) Ask(ctx context.Context, q recall.Question) (a recall.Answer, err error) {
	return a, c.Post(ctx, AskPath, q, &a)
}
