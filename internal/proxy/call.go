package proxy

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
)

type apiUsage = apiform.Usage

// maxBody is the size above which a request body is passed on without being read. The
// largest body that was seen had 4 MB for 10,000 messages.
const maxBody = 96 << 20

// call is one request to a model.
type call struct {
	server  *Server
	session *session
	made    Composition
	answer  *answer // the proxy answers itself
	model   string  // in the path of the request, or ""
	million bool    // the request asks for a window of a million tokens
	// The request and where it is answered, of one that passes through the proxy.
	request *http.Request
	open    *keptOpen
	expired bool // the host waits no longer
	// A request for a context engine has its own budget, says how long it may wait for a fold, and
	// whether the model has lcm's tools.
	budget   int
	patience time.Duration
	tools    bool
	cut      bool
	span     tracing.Span
}

// traced starts the span of the call, by OpenTelemetry's conventions for generative AI.
func (c *call) traced(ctx context.Context, path string) {
	provider := "openai"
	if strings.Contains(path, "/messages") {
		provider = "anthropic"
	}
	model := cmp.Or(c.made.Model, c.model)
	_, c.span = tracing.Start(ctx, strings.TrimSpace("chat "+model), tracing.Client)
	c.span.GenAI("operation.name", "chat")
	c.span.GenAI("provider.name", provider)
	c.span.GenAI("request.model", model)
	c.span.GenAI("conversation.id", c.session.key)
}

// endSpan ends the span of the call.
func (c *call) endSpan(u apiUsage) {
	c.span.GenAI("usage.input_tokens", u.Total())
	c.span.GenAI("usage.output_tokens", u.Output)
	switch {
	case c.made.Status == 0:
		c.span.Fail("unreachable")
	case c.made.Status != http.StatusOK:
		c.span.Fail(strconv.Itoa(c.made.Status))
	}
	c.span.End(nil)
}

// prepare reads a request to a model and replaces its body if that is needed. It
// returns nil for every other request.
func (s *Server) prepare(open *keptOpen, r *http.Request, path string) *call {
	form := apiform.FormOf(path)
	host, id := s.identity(r.Header)
	if r.Method != http.MethodPost || form == apiform.None {
		return nil
	}
	raw, whole, err := readBody(r)
	if err != nil || !whole {
		return nil // the transport reports the error
	}
	body, problem := decoded(r.Header.Get("Content-Encoding"), raw)
	switch {
	case id == "" && s.ByCalls && problem == nil:
		host, id = s.Run.Host, s.byCalls(r, form, body)
	case id == "":
		s.warnOnce("no transcript of a known agent (" + all.Titles() + ") belongs to these requests, so they pass unchanged; " +
			"programs on the Go library fold by themselves: docs/hosts/RUN.md")
	}
	one := s.session(host, id)
	c := &call{server: s, session: one, model: apiform.ModelOf(path), request: r, open: open, made: Composition{Run: s.Run.ID, At: s.Clock(), Observe: s.Observe}}
	if problem != nil {
		c.fail("the encoding of the body is not known")
		return c
	}
	out := c.rewrite(r, form, body)
	if out != nil && !s.Observe {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(out)), int64(len(out))
		r.Header.Set("Content-Length", strconv.Itoa(len(out)))
		r.Header.Del("Content-Encoding")
	}
	if c.answer != nil {
		c.made.Status = c.answer.status
	}
	return c
}

// readBody reads a body and leaves it readable. whole is false for one that is too
// long.
func readBody(r *http.Request) (body []byte, whole bool, err error) {
	var read bytes.Buffer
	read.Grow(int(min(max(r.ContentLength, 0), maxBody)) + bytes.MinRead) // read once, without moving it
	_, err = read.ReadFrom(io.LimitReader(r.Body, maxBody+1))
	body = read.Bytes()
	if err != nil || len(body) > maxBody {
		r.Body = readCloser{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
		return nil, false, err
	}
	r.Body = readCloser{bytes.NewReader(body), r.Body}
	return body, true, nil
}

// readCloser is a body that is read from elsewhere.
type readCloser struct {
	io.Reader
	io.Closer
}

// decoded returns the body without its encoding.
func decoded(encoding string, body []byte) ([]byte, error) {
	switch encoding {
	case "", "identity":
		return body, nil
	case "zstd":
		d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxBody), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return d.DecodeAll(body, nil)
	}
	return nil, fmt.Errorf("the encoding %q", encoding)
}

// failedInside is the reason of a request that passes unchanged after a panic.
const failedInside = "an error in the proxy"

// rewrite returns the new body, or nil if the request stays as it is. A panic leaves it
// as it is too.
func (c *call) rewrite(r *http.Request, form apiform.Form, body []byte) (out []byte) {
	defer func() {
		if p := recover(); p != nil {
			c.server.Log.Error("the proxy failed and passed a request on unchanged", "panic", p, "stack", string(debug.Stack()))
			c.fail(failedInside)
			out = nil
		}
	}()
	if req, edits := c.decide(r.Header, form, body); len(edits) > 0 {
		return req.Rewrite(edits)
	}
	return nil
}

// fail notes why the request passes unchanged. That of an unknown client would pass
// unchanged in any case.
func (c *call) fail(why string) {
	if c.session.host == "" {
		c.made.Note = NoKnownAgent
		return
	}
	c.made.Failure = why
}

// watch reads the usage of an answer as it passes.
func (c *call) watch(resp *http.Response) {
	c.made.Status = resp.StatusCode
	if resp.StatusCode != http.StatusOK {
		c.readError(resp)
		c.done(apiUsage{})
		return
	}
	if c.made.Dropped > 0 && !c.server.Observe && resp.Request != nil && apiform.FormOf(resp.Request.URL.Path) == apiform.Responses {
		// Codex would else add an estimate of all earlier reasoning.
		resp.Header.Set("X-Reasoning-Included", "true")
	}
	stream := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	reader := &apiform.UsageReader{ReadCloser: resp.Body, Stream: stream}
	reader.Done = func(u apiUsage) {
		c.learnWindow(reader.Refusal)
		c.done(u)
	}
	resp.Body = reader
}

// done ends a call.
func (c *call) done(u apiUsage) {
	c.made.Usage = u
	c.endSpan(u)
	c.judge(u)
	if c.made.Units > 0 && u.Total() > 0 && !c.server.Observe {
		c.session.calibrate(c.made.Model, c.made.Units, u.Total())
	}
	if c.made.Units > 0 && c.server.Observe && u.Total() > 0 {
		c.session.calibrate(c.made.Model, c.made.FullUnits, u.Total())
	}
	m := c.made
	c.server.Log.Debug("request", "session", c.session.key, "messages", m.Messages, "full", m.FullTokens, "sent", m.Tokens, "dropped", m.Dropped,
		"summaries", len(m.Summaries), "fold", m.Fold, "usage", u, "failure", m.Failure, "over", m.Over, "note", m.Note)
	if m.Tokens > most(m.Window) && c.request != nil && c.answer == nil && !m.Observe {
		c.server.warnOnce("a request was sent that the model's window may not hold; this is said once", "session", c.session.key, "messages", m.Messages, "folded", m.Dropped,
			"tokens", m.Tokens, "window", m.Window, "why", cmp.Or(m.Failure, m.Over, m.Note))
	}
	c.server.runLog.add(c.server.ctx, c.session.key, c.made)
	c.session.kick()
}
