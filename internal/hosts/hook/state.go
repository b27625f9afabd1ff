package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/record/store"
)

// memory is how long the shown context of a session is remembered.
const memory = 60 * 24 * time.Hour

// shownState is the context that a session was given.
type shownState struct {
	At           time.Time            `json:"at,omitzero"`
	Conversation store.ConversationID `json:"conversation,omitempty"`
	// Compacted says that the host has compacted the session since.
	Compacted bool `json:"compacted,omitempty"`
	// Forgot is when the host last compacted the session.
	Forgot time.Time `json:"forgot,omitzero"`
	// Reminded are the messages that were shown for its prompts.
	Reminded []store.MessageID `json:"reminded,omitempty"`
}

// maxReminded bounds Reminded.
const maxReminded = 60

func (h *Handler) shown(ctx context.Context, e Event) (shownState, error) {
	var l shownState
	err := h.get(ctx, store.HookShownSpace, key(e), &l)
	return l, err
}

func (h *Handler) forget(ctx context.Context, e Event, at time.Time) error {
	return h.put(ctx, store.HookShownSpace, key(e), shownState{Compacted: true, Forgot: at}, h.Clock().Add(memory))
}

// note records when an event happened, for `lcm doctor`.
func (h *Handler) note(ctx context.Context, e Event, problem error) error {
	f := hosts.Fired{At: h.Clock(), Session: e.Session}
	if problem != nil {
		f.Problem = problem.Error()
	}
	return h.put(ctx, store.HookFiredSpace, e.Host+"/"+e.Name, f, time.Time{})
}

// lookEvery is how often all sessions of a host are read for missed records.
const lookEvery = 10 * time.Minute

// lookDue reports whether that check is due, and records that it is done.
func (h *Handler) lookDue(ctx context.Context, host string) (bool, error) {
	var last time.Time
	if err := h.get(ctx, store.HookSurveySpace, "looked/"+host, &last); err != nil {
		return false, err
	}
	if now := h.Clock(); now.Sub(last) < lookEvery && !now.Before(last) {
		return false, nil
	}
	return true, h.put(ctx, store.HookSurveySpace, "looked/"+host, h.Clock(), time.Time{})
}

// get reads a value. It leaves to unchanged if there is none.
func (h *Handler) get(ctx context.Context, space, key string, to any) error {
	v, err := h.Record.Get(ctx, space, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(v.Data, to)
	}
	if err != nil {
		return fmt.Errorf("read the state of hooks: %s: %w", key, err)
	}
	return nil
}

// put writes a value.
func (h *Handler) put(ctx context.Context, space, key string, value any, expires time.Time) error {
	if err := store.Set(ctx, h.Record, space, key, value, expires); err != nil {
		return fmt.Errorf("write the state of hooks: %w", err)
	}
	return nil
}
