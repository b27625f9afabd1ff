package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/kit/process"
	"github.com/lossless-context/lcm/internal/record/store"
)

// leaseTime is how long a killed process blocks its transcript. Every batch renews it.
const leaseTime = 10 * time.Second

// cursor is the stored state of a transcript. It is also the lease: the process
// whose compare-and-set succeeds holds it.
type cursor struct {
	Position
	// Path is the file that was read, Size and Modified are of it when it was last read to its end.
	Path     string    `json:"path,omitempty"`
	Size     int64     `json:"size,omitempty"`
	Modified time.Time `json:"modified,omitzero"`

	Conversation store.ConversationID `json:"conversation,omitempty"`
	Dir          string               `json:"dir,omitempty"`
	Ingested     time.Time            `json:"ingested,omitzero"`
	// Said is the time of the last record.
	Said time.Time `json:"said,omitzero"`
	// Compacted is the time of the last summary with which the host replaced messages.
	Compacted time.Time `json:"compacted,omitzero"`
	// Own are the ids of calls of lcm's tools that have no result yet.
	Own []string `json:"own,omitempty"`

	Owner string    `json:"owner,omitempty"` // of the lease
	Until time.Time `json:"until,omitzero"`
}

// unchanged reports whether a transcript was read to its end and is the same.
func (c cursor) unchanged(t Transcript) bool {
	return c.Path == t.Path && c.Size == t.Size && c.Modified.Equal(t.Modified)
}

func decodeCursor(data []byte) cursor {
	var c cursor
	if json.Unmarshal(data, &c) != nil {
		return cursor{} // an unreadable cursor costs a rescan
	}
	return c
}

// cursor reads the cursor of a transcript and its version.
func (f *Feed) cursor(ctx context.Context, t Transcript) (cursor, int64, error) {
	v, err := f.store.Get(ctx, store.CursorSpace, t.Key())
	if errors.Is(err, store.ErrNotFound) {
		return cursor{}, 0, nil
	}
	if err != nil {
		return cursor{}, 0, fmt.Errorf("read the cursor of %s: %w", t.Key(), err)
	}
	return decodeCursor(v.Data), v.Version, nil
}

// cursors reads the cursors of all transcripts, by session key.
func (f *Feed) cursors(ctx context.Context) (map[string]cursor, error) {
	values, err := f.store.List(ctx, store.CursorSpace)
	if err != nil {
		return nil, fmt.Errorf("read the cursors: %w", err)
	}
	all := make(map[string]cursor, len(values))
	for _, v := range values {
		all[v.Key] = decodeCursor(v.Data)
	}
	return all, nil
}

// errBusy says that another process reads the transcript.
var errBusy = errors.New("another process is reading the transcript")

// held is a cursor whose lease this process holds.
type held struct {
	cursor
	feed    *Feed
	key     string
	version int64
}

// poll is how often a waiting process checks the lease.
const poll = 100 * time.Millisecond

// take takes the lease of a transcript, or fails with errBusy.
func (f *Feed) take(ctx context.Context, t Transcript, wait bool) (*held, error) {
	for {
		c, version, err := f.cursor(ctx, t)
		if err != nil {
			return nil, err
		}
		// A lease that ends too late was taken when the clock was ahead.
		if left := c.Until.Sub(f.options.Clock()); c.Owner == "" || left <= 0 || left > 2*leaseTime || process.Ended(c.Owner) {
			h := &held{cursor: c, feed: f, key: t.Key(), version: version}
			if err = h.save(ctx); !errors.Is(err, errBusy) {
				return h, err
			}
		}
		if !wait {
			return nil, errBusy
		}
		if err := store.Wait(ctx, poll); err != nil {
			return nil, err
		}
	}
}

// save writes the cursor and renews the lease.
func (h *held) save(ctx context.Context) error {
	h.Owner, h.Until = h.feed.options.Owner, h.feed.options.Clock().Add(leaseTime)
	return h.put(ctx)
}

// release writes the cursor and releases the lease, even if ctx was cancelled.
func (h *held) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTime/2)
	defer cancel()
	h.Owner, h.Until = "", time.Time{}
	return h.put(ctx)
}

func (h *held) put(ctx context.Context) error {
	data, err := json.Marshal(h.cursor)
	if err != nil {
		return fmt.Errorf("write the cursor of %s: %w", h.key, err)
	}
	version, err := h.feed.store.Put(ctx, store.CursorSpace, h.key, data, h.version, time.Time{})
	if errors.Is(err, store.ErrConflict) {
		return errBusy
	}
	if err != nil {
		return fmt.Errorf("write the cursor of %s: %w", h.key, err)
	}
	h.version = version
	return nil
}

// Lag says how far the record is behind a transcript.
func (f *Feed) Lag(ctx context.Context, t Transcript) (Lag, error) {
	c, version, err := f.cursor(ctx, t)
	lag := Lag{Ingested: c.Ingested, Written: t.Modified}
	if err != nil || version != 0 && c.unchanged(t) {
		return lag, err
	}
	read := c.Offset
	if c.Path == t.Path && c.Size > 0 {
		read = c.Size
	}
	lag.Behind, lag.Bytes, lag.Truncated = true, max(0, t.Size-read), c.Path == t.Path && t.Size < c.Size
	return lag, nil
}
