package compact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Pauses between runs that made no progress.
const (
	firstPause = 5 * time.Minute
	maxPause   = 30 * time.Minute
)

// Entry is the ledger's entry for a conversation.
type Entry struct {
	Conversation store.ConversationID `json:"conversation"`
	// Attempts counts runs in a row that made no progress.
	Attempts int       `json:"attempts,omitempty"`
	Reason   Reason    `json:"reason,omitempty"` // of the last run
	Detail   string    `json:"detail,omitempty"`
	At       time.Time `json:"at,omitzero"`
	// NotBefore is when the next background run is due.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Calls counts calls of the summariser since Window.
	Calls  int       `json:"calls,omitempty"`
	Window time.Time `json:"window,omitzero"`

	version int64
}

// Ledger keeps the bounds of compaction where they survive a restart.
type Ledger struct {
	state store.State
	clock func() time.Time
}

// NewLedger returns the ledger that is kept in state.
func NewLedger(state store.State, clock func() time.Time) *Ledger {
	return &Ledger{state: state, clock: clock}
}

func key(id store.ConversationID) string { return strconv.FormatInt(int64(id), 10) }

func (l *Ledger) open(ctx context.Context, id store.ConversationID) (*Entry, error) {
	e := &Entry{Conversation: id}
	v, err := l.state.Get(ctx, store.CompactSpace, key(id))
	if errors.Is(err, store.ErrNotFound) {
		return e, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	// An entry that cannot be read bounds nothing; it is written anew.
	if json.Unmarshal(v.Data, e) != nil {
		*e = Entry{Conversation: id}
	}
	e.version = v.Version
	return e, nil
}

// save writes an entry. It keeps the stored entry if another process has changed it:
// the lease keeps runs apart, so that process was a manual run that took the lease over.
func (l *Ledger) save(ctx context.Context, e *Entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	v, err := l.state.Put(ctx, store.CompactSpace, key(e.Conversation), data, e.version, time.Time{})
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("writing the ledger: %w", err)
	}
	if err == nil {
		e.version = v
	}
	return nil
}

// reserve books as many calls as the window has left before the first one is
// made, so that a process that dies and comes back cannot spend them again.
// close gives unused calls back.
func (l *Ledger) reserve(ctx context.Context, e *Entry, b Bounds) (int, error) {
	now := l.clock()
	if now.Sub(e.Window) >= b.CallWindow {
		e.Window, e.Calls = now, 0
	}
	calls := max(0, b.MaxCalls-e.Calls)
	if calls == 0 {
		return 0, nil
	}
	e.Calls += calls
	return calls, l.save(ctx, e)
}

// close records how a run ended. left is how many reserved calls it did not
// make; a manual run clears them all. backoff is the pause once they are used
// up.
func (l *Ledger) close(ctx context.Context, e *Entry, r Report, left int, backoff time.Duration) error {
	fresh := e.version == 0
	e.Calls = max(0, e.Calls-left)
	e.Reason, e.Detail, e.At = r.Reason, r.Detail, l.clock()
	switch {
	case r.Reason == Spend:
		e.NotBefore = e.At.Add(backoff)
	case r.Progress() || r.Reason == Done || r.Mode == Full:
		e.Attempts, e.NotBefore = 0, time.Time{}
	case r.Reason == Interrupted:
	case r.Reason == Exhausted && r.Passes == 0:
		// Another run has already folded everything, which is no failed attempt.
	default:
		e.Attempts++
		e.NotBefore = e.At.Add(min(maxPause, firstPause<<min(e.Attempts-1, 8)))
	}
	if fresh && e.Calls == 0 && e.Reason == Done {
		return nil // there is nothing to remember
	}
	return l.save(ctx, e)
}
