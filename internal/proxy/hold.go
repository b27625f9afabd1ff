package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
)

// A request that does not fit the model's window would be refused, and the turn would be lost. It is
// held until a fold makes it small, for as long as its host waits, and sent as it came only
// where no fold can come.

// hostPatience is how long the hosts that are known wait for an answer, if a request does not say it:
// five minutes, less a margin.
const hostPatience = 270 * time.Second

// What happens to a request that is held, by the number of its server's beats.
const (
	tellBeats       = 3  // the user is told
	transcriptBeats = 10 // a session without a transcript will have none
	pingBeats       = 30 // the host's connection is kept open, each time
)

// most is what a request may have to be accepted for sure: its size is an estimate.
func most(window int) int { return window * mostShare / 100 }

// hold is a request that is held.
type hold struct {
	call   *call
	stream bool
	ctx    context.Context // of the host's patience
	end    context.CancelFunc
	ticker *time.Ticker
	beats  int
}

// hold begins to hold a request. SDKs say in a header how many seconds they wait; without a
// stream their connections end sooner.
func (c *call) hold(stream bool) *hold {
	wait := hostPatience
	if n, err := strconv.Atoi(c.request.Header.Get("X-Stainless-Timeout")); err == nil && n > 0 {
		if own := time.Duration(n) * time.Second * 9 / 10; stream || own < wait {
			wait = own
		}
	}
	h := &hold{call: c, stream: stream, ticker: time.NewTicker(c.server.beat)}
	h.ctx, h.end = context.WithTimeout(c.request.Context(), wait)
	return h
}

// beat has a value for each beat.
func (h *hold) beat() <-chan time.Time {
	if h == nil {
		return nil
	}
	return h.ticker.C
}

// tick looks after the request.
func (h *hold) tick(why string) {
	if h.beats++; h.beats == tellBeats {
		h.call.server.tell(fmt.Sprintf("a request of %s tokens does not fit the model's window and waits for its summaries: %s", prose.Number(h.call.made.FullTokens), why))
	}
	if h.stream && h.beats%pingBeats == 0 {
		h.call.open.ping()
	}
}

// tell tells the user something while the agent runs.
func (s *Server) tell(text string) {
	if s.Log.Info(text); s.Tell != nil {
		s.Tell(text)
	}
}

// hopeless reports whether no fold can come for a request that is held, after the background work has
// looked at it. The caller holds mu.
func (s *session) hopeless(beats int) bool {
	switch {
	case s.working || s.unread:
		return false
	case s.behind == NoTranscript: // a host may write it after its request
		return beats >= transcriptBeats
	case s.behind == RecordBehind:
		return !s.locked
	}
	return s.behind != "" || s.idle
}

// notReady answers a request whose host waits no longer, so that the host tries again.
func (s *session) notReady(c *call, why string) {
	c.made.Note, c.made.Tokens = "held until the host tries again: "+why, 0
	c.answer = apiError(c.request.URL.Path, http.StatusServiceUnavailable, "overloaded_error",
		fmt.Sprintf("lcm has not folded this session yet (%s), and its %d tokens do not fit the model's window: try again", why, c.made.FullTokens))
}

// keptOpen is where a request is answered. A stream may begin before the API has answered.
type keptOpen struct {
	http.ResponseWriter
	form    apiform.Form
	begun   bool
	failed  bool         // then the answer is an error
	problem bytes.Buffer // of it
}

// ping keeps the connection open. Codex takes no notice of comments.
func (k *keptOpen) ping() {
	if !k.begun {
		k.Header().Set("Content-Type", "text/event-stream")
		k.ResponseWriter.WriteHeader(http.StatusOK)
		k.begun = true
	}
	text := ": lcm\n\n"
	switch k.form {
	case apiform.Messages:
		text = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	case apiform.Responses:
		text = "event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n"
	}
	_, _ = io.WriteString(k.ResponseWriter, text) // the client may have gone
	_ = http.NewResponseController(k.ResponseWriter).Flush()
}

// WriteHeader implements [http.ResponseWriter].
func (k *keptOpen) WriteHeader(status int) {
	if !k.begun {
		k.ResponseWriter.WriteHeader(status)
		return
	}
	k.failed = status >= http.StatusMultipleChoices
}

// Write implements [io.Writer].
func (k *keptOpen) Write(b []byte) (int, error) {
	if k.failed {
		return k.problem.Write(b)
	}
	return k.ResponseWriter.Write(b)
}

// Unwrap is for [http.ResponseController].
func (k *keptOpen) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// end ends a stream with the error of the API.
func (k *keptOpen) end() {
	if !k.failed {
		return
	}
	var body struct{ Error json.RawMessage }
	var line bytes.Buffer
	if json.Unmarshal(k.problem.Bytes(), &body) != nil || json.Compact(&line, body.Error) != nil {
		text, _ := json.Marshal(k.problem.String()) // of a string it cannot fail
		line.Reset()
		fmt.Fprintf(&line, `{"type":"api_error","message":%s}`, text)
	}
	event := "event: error\ndata: {\"type\":\"error\",\"error\":%s}\n\n"
	if k.form == apiform.Responses {
		event = "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"id\":\"lcm\",\"status\":\"failed\",\"error\":%s}}\n\n"
	}
	fmt.Fprintf(k.ResponseWriter, event, line.Bytes())
}
