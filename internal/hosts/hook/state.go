package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/store"
)

// The spaces of the store's state that hooks use.
const (
	shownSpace  = "hooks.shown" // by session: what it was shown
	firedSpace  = "hooks.fired" // by host and event: when it last happened
	surveySpace = "hooks.count" // by host: when its sessions were last surveyed
)

// memory is how long it is remembered what a session was shown.
const memory = 60 * 24 * time.Hour

// ledger is what a session was shown.
type ledger struct {
	At           time.Time            `json:"at,omitzero"`
	Conversation store.ConversationID `json:"conversation,omitempty"`
	// Compacted says that the session has forgotten it since.
	Compacted bool `json:"compacted,omitempty"`
	// Forgot is when the host last compacted the session: it no longer knows
	// what it said before.
	Forgot time.Time `json:"forgot,omitzero"`
	// Reminded are the messages that its prompts were answered with.
	Reminded []store.MessageID `json:"reminded,omitempty"`
}

// maxReminded bounds how many of them are remembered.
const maxReminded = 60

func (h *Handler) shown(ctx context.Context, e Event) (ledger, error) {
	var l ledger
	_, err := h.get(ctx, shownSpace, key(e), &l)
	return l, err
}

func (h *Handler) forget(ctx context.Context, e Event) error {
	return h.put(ctx, shownSpace, key(e), ledger{Compacted: true, Forgot: h.Clock()}, h.Clock().Add(memory))
}

// Fired is when an event last happened, and what went wrong then.
type Fired struct {
	Host    string    `json:"-"`
	Event   string    `json:"-"`
	At      time.Time `json:"at"`
	Session string    `json:"session,omitempty"`
	Problem string    `json:"problem,omitempty"`
}

// note keeps when an event happened, for `lcm doctor`.
func (h *Handler) note(ctx context.Context, e Event, problem error) error {
	f := Fired{At: h.Clock(), Session: e.Session}
	if problem != nil {
		f.Problem = problem.Error()
	}
	return h.put(ctx, firedSpace, e.Host+"/"+e.Name, f, time.Time{})
}

// Noted lists the events that happened, by host and name.
func Noted(ctx context.Context, s store.State) ([]Fired, error) {
	values, err := s.List(ctx, firedSpace)
	if err != nil {
		return nil, fmt.Errorf("read when hooks ran: %w", err)
	}
	var all []Fired
	for _, v := range values {
		var f Fired
		if err := json.Unmarshal(v.Data, &f); err != nil {
			return nil, fmt.Errorf("read when hooks ran: %s: %w", v.Key, err)
		}
		f.Host, f.Event, _ = strings.Cut(v.Key, "/")
		all = append(all, f)
	}
	return all, nil
}

// lookEvery is how often the sessions of a host are looked through for what
// hooks missed.
const lookEvery = 10 * time.Minute

// lookDue says whether it is time to do that, and notes that it is done.
func (h *Handler) lookDue(ctx context.Context, host string) (bool, error) {
	var last time.Time
	if _, err := h.get(ctx, surveySpace, "looked/"+host, &last); err != nil {
		return false, err
	}
	if now := h.Clock(); now.Sub(last) < lookEvery && !now.Before(last) {
		return false, nil
	}
	return true, h.put(ctx, surveySpace, "looked/"+host, h.Clock(), time.Time{})
}

// get reads a value; one that is not there leaves to as it is.
func (h *Handler) get(ctx context.Context, space, key string, to any) (version int64, err error) {
	v, err := h.Record.Get(ctx, space, key)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the state of hooks: %w", err)
	}
	if err := json.Unmarshal(v.Data, to); err != nil {
		return 0, fmt.Errorf("read the state of hooks: %s: %w", key, err)
	}
	return v.Version, nil
}

// put writes a value. Of two hooks that write at the same moment the last one
// counts: neither knows more than the other.
func (h *Handler) put(ctx context.Context, space, key string, value any, expires time.Time) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write the state of hooks: %w", err)
	}
	const tries = 4
	for range tries {
		version := int64(0)
		switch v, getErr := h.Record.Get(ctx, space, key); {
		case getErr == nil:
			version = v.Version
		case !errors.Is(getErr, store.ErrNotFound):
			return fmt.Errorf("write the state of hooks: %w", getErr)
		}
		if _, err = h.Record.Put(ctx, space, key, data, version, expires); !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("write the state of hooks: %w", err)
	}
	return nil
}
