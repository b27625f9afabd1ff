package teamsync

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm/internal/delegation"
	"github.com/lossless-context/lcm/internal/hint"
	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/recall"
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
		return hint.New("`lcm token add` on the server makes one", "sync.token is not set")
	}
	return nil
}

// RequestError is a request that the server refused.
type RequestError struct {
	Code int
	Problem
}

func (e *RequestError) Error() string { return "the server says: " + e.Problem.Error }

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
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(request); err != nil {
		return err
	}
	sent := body.Bytes()
	packed := path == PushPath
	if packed {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		sent = z.EncodeAll(sent, nil)
	}
	var err error
	for try := range tries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return err
			case <-time.After(time.Duration(try) * 300 * time.Millisecond):
			}
		}
		var again bool
		if again, err = c.send(ctx, path, sent, packed, answer); !again {
			return err
		}
	}
	return err
}

// send sends a request once. again says that it may succeed later.
func (c Client) send(ctx context.Context, path string, body []byte, packed bool, answer any) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(c.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Authorization", "Bearer "+c.Token)
	r.Header.Set("Content-Type", "application/json")
	if packed {
		r.Header.Set("Content-Encoding", Encoding)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	got, err := client.Do(r)
	if err != nil {
		advice := "everything stays on this machine; `lcm sync` pushes it later"
		if path == GrepPath || path == AskPath {
			advice = "without --team the record of this machine answers; sync.url names the server"
		}
		return ctx.Err() == nil, &hint.Error{Err: fmt.Errorf("the team server cannot be reached: %w", err), Hint: advice}
	}
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, MaxBody))
	if err != nil {
		return ctx.Err() == nil, fmt.Errorf("read the server's answer: %w", err)
	}
	if got.StatusCode != http.StatusOK {
		e := &RequestError{Code: got.StatusCode}
		if json.Unmarshal(text, &e.Problem) != nil || e.Problem.Error == "" {
			e.Problem.Error = fmt.Sprintf("%s, and it does not look like `lcm serve`", got.Status)
		}
		if e.Hint != "" {
			err = &hint.Error{Err: e, Hint: e.Hint}
		} else {
			err = e
		}
		return got.StatusCode >= 500, err
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return false, fmt.Errorf("the server's answer: %w", err)
	}
	return false, nil
}

// Grep searches the team's record.
func (c Client) Grep(ctx context.Context, q recall.GrepRequest) (a recall.GrepAnswer, err error) {
	return a, c.Post(ctx, GrepPath, q, &a)
}

// Ask asks the team's record.
func (c Client) Ask(ctx context.Context, q delegation.Request) (a delegation.Answer, err error) {
	return a, c.Post(ctx, AskPath, q, &a)
}
