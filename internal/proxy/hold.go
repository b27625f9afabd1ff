package proxy

import (
	"bytes"
	"context"
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
	beat   <-chan time.Time
	beats  int
}

// hold begins to hold a request. SDKs say in a header how many seconds they wait.
func (c *call) hold(stream bool) *hold {
	wait := hostPatience
	if n, err := strconv.Atoi(c.request.Header.Get("X-Stainless-Timeout")); err == nil && n > 0 {
		wait = time.Duration(n) * time.Second * 9 / 10
	}
	h := &hold{call: c, stream: stream, beat: time.Tick(c.server.beat)}
	h.ctx, h.end = context.WithTimeout(c.request.Context(), wait)
	return h
}

// tick looks after the request.
func (h *hold) tick(why string) {
	h.call.session.kick()
	if h.beats++; h.beats == tellBeats {
		h.call.server.Tell(fmt.Sprintf("a request of %s tokens does not fit the model's window and waits for its summaries: %s", prose.Number(h.call.made.FullTokens), why))
	}
	if h.stream && h.beats%pingBeats == 0 {
		h.call.open.ping()
	}
}

// hopeless reports whether no fold can come for a request that is held, after the background work has
// looked at it. The caller holds the session's mu.
func (h *hold) hopeless() bool {
	s := h.call.session
	return s.settled && !s.working && (s.behind != NoTranscript || h.beats >= transcriptBeats)
}

// notReady answers a request whose host waits no longer, so that the host tries again.
func (c *call) notReady(why string) {
	c.made.Note, c.made.Tokens = "held until the host tries again: "+why, 0
	c.answer = apiError(c.request.URL.Path, http.StatusServiceUnavailable, "overloaded_error",
		fmt.Sprintf("lcm has not folded this session yet (%s), and its %d tokens do not fit the model's window: try again", why, c.made.FullTokens))
}

// keptOpen is where a request is answered. A stream may begin before the API has answered.
type keptOpen struct {
	http.ResponseWriter
	form   apiform.Form
	begun  bool
	failed bool // then the answer is an error, which becomes an event
}

// ping keeps the connection open. Codex takes no notice of comments.
func (k *keptOpen) ping() {
	if !k.begun {
		k.Header().Set("Content-Type", "text/event-stream")
		k.WriteHeader(http.StatusOK)
		k.begun = true
	}
	text := ": lcm"
	if k.form == apiform.Messages || k.form == apiform.Responses {
		text = "event: ping\ndata: {\"type\":\"ping\"}"
	}
	_, _ = io.WriteString(k.ResponseWriter, text+"\n\n") // the client may have gone
	_ = http.NewResponseController(k.ResponseWriter).Flush()
}

// WriteHeader implements [http.ResponseWriter].
func (k *keptOpen) WriteHeader(status int) {
	if !k.begun {
		k.ResponseWriter.WriteHeader(status)
	} else if k.failed = status >= http.StatusMultipleChoices; k.failed {
		_, _ = io.WriteString(k.ResponseWriter, "event: error\ndata: ")
	}
}

// Write implements [io.Writer].
func (k *keptOpen) Write(b []byte) (int, error) {
	if !k.failed {
		return k.ResponseWriter.Write(b)
	}
	_, err := k.ResponseWriter.Write(bytes.ReplaceAll(b, []byte("\n"), []byte("\ndata: ")))
	return len(b), err
}

// Unwrap is for [http.ResponseController].
func (k *keptOpen) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// end ends the event of an error.
func (k *keptOpen) end() {
	if k.failed {
		_, _ = io.WriteString(k.ResponseWriter, "\n\n")
	}
}
