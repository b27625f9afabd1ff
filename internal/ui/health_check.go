package ui

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/doctor"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Check is the outcome of proving every session and looking for problems.
type Check struct {
	At        time.Time        `json:"at"`
	Seconds   float64          `json:"seconds"`
	Sound     bool             `json:"sound"` // verification found no fault
	Sessions  []Proved         `json:"sessions"`
	Messages  int64            `json:"messages"`
	Summaries int64            `json:"summaries"`
	Bytes     int64            `json:"bytes"`
	Digest    string           `json:"digest,omitempty"` // none if there are faults
	Orphans   []store.Fault    `json:"orphans"`          // rows that belong to no session
	Findings  []doctor.Finding `json:"findings"`
}

// Proved is the verification of a session.
type Proved struct {
	ID       store.ConversationID `json:"id"`
	Title    string               `json:"title"`
	Messages int64                `json:"messages"`
	Faults   []store.Fault        `json:"faults"`
}

func (*Check) title() string { return "Check" }

// faulty returns the sessions with faults.
func (c Check) faulty() []Proved {
	return slices.DeleteFunc(slices.Clone(c.Sessions), func(p Proved) bool { return len(p.Faults) == 0 })
}

// serious counts the problems and warnings.
func (c Check) serious() int {
	n := 0
	for _, f := range c.Findings {
		if f.Severity != doctor.Note {
			n++
		}
	}
	return n
}

// progress is how far a check is.
type progress struct {
	Doing string `json:"doing"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"` // 0 if it is not known
}

// lastCheck returns the last check of this server, or nil.
func (h *health) lastCheck(*http.Request) (*Check, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last, nil
}

// forgetCheck drops the last check, which may quote titles of sessions.
func (h *health) forgetCheck() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = nil
}

// check proves every session, as `lcm verify --all` does, and then looks for
// problems, as `lcm doctor` does. It changes nothing.
func (h *health) check(ctx context.Context, tell func(progress)) (*Check, error) {
	tell(progress{Doing: "waiting for another check"})
	h.running.Lock()
	defer h.running.Unlock()
	c := &Check{At: time.Now(), Sound: true, Sessions: []Proved{}, Findings: []doctor.Finding{}}
	if err := h.prove(ctx, c, tell); err != nil {
		return nil, err
	}
	if h.doctor != nil {
		tell(progress{Doing: "looking for problems"})
		found, err := h.doctor(ctx)
		if err != nil {
			return nil, err
		}
		c.Findings = append(c.Findings, found...)
	}
	c.Seconds = time.Since(c.At).Seconds()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = c
	return c, nil
}

// prove verifies every session. A session that cannot be read is a fault.
func (h *health) prove(ctx context.Context, c *Check, tell func(progress)) error {
	all, err := h.record.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return err
	}
	// The order of the digest of `lcm verify`.
	slices.SortFunc(all, func(a, b store.Conversation) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Segment, b.Segment))
	})
	done, total := int64(0), int64(0)
	for _, one := range all {
		total += one.Messages
	}
	digest := sha256.New()
	for _, one := range all {
		title, err := h.titleOf(ctx, one)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			title = one.Key
		}
		tell(progress{Doing: "proving " + title, Done: done, Total: total})
		v, err := h.record.Verify(ctx, one.ID)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			why, _ := hint.Split(err)
			v.Faults = append(v.Faults, store.Fault{Code: "unreadable", Node: fmt.Sprintf("session %d", one.ID), Detail: why})
		}
		c.Sessions = append(c.Sessions, Proved{ID: one.ID, Title: title, Messages: v.Messages, Faults: append([]store.Fault{}, v.Faults...)})
		c.Messages, c.Summaries, c.Bytes = c.Messages+v.Messages, c.Summaries+v.Summaries, c.Bytes+v.Bytes
		c.Sound = c.Sound && len(v.Faults) == 0
		digest.Write(v.Digest[:])
		done += one.Messages
	}
	tell(progress{Doing: "looking for rows without a session", Done: total, Total: total})
	orphans, err := h.record.Orphans(ctx)
	if err != nil {
		return err
	}
	c.Orphans = append([]store.Fault{}, orphans...)
	if c.Sound = c.Sound && len(orphans) == 0; c.Sound {
		c.Digest = hex.EncodeToString(digest.Sum(nil))
	}
	return nil
}

// checkEvents runs a check and sends server-sent events: "progress" while it runs,
// then "done", or "failed" with the reason. It ends when the browser leaves.
func (h *health) checkEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(event string, data any) {
		text, _ := json.Marshal(data) // it has numbers and strings
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text)
		_ = out.Flush() // the browser is gone, which ends the context
	}
	if _, err := h.check(r.Context(), func(p progress) { send("progress", p) }); err != nil {
		send("failed", message(err))
		return
	}
	send("done", "")
}

// runCheck runs a check for a browser without JavaScript and for the API.
func (h *health) runCheck(r *http.Request) (*Check, error) {
	return h.check(r.Context(), func(progress) {})
}
