package access

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Entry is one row of the audit. It quotes no message.
type Entry struct {
	Time   time.Time `json:"time"`
	Who    string    `json:"who"`
	Action string    `json:"action"` // "erase", "token add", "token revoke"
	Detail string    `json:"detail,omitempty"`
}

// Audit lists erasures and changes of tokens. A row is written before its action, so
// that no action is without one.
type Audit struct {
	State store.State
	Clock func() time.Time
}

// Add writes a row.
func (a Audit) Add(ctx context.Context, e Entry) error {
	e.Time = a.Clock().UTC()
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	random := make([]byte, 4) // two rows may have the same time
	_, _ = rand.Read(random)
	key := e.Time.Format("2006-01-02T15:04:05.000000000Z") + "-" + hex.EncodeToString(random)
	if _, err := a.State.Put(ctx, store.AuditSpace, key, data, 0, time.Time{}); err != nil {
		return fmt.Errorf("write the audit: %w", err)
	}
	return nil
}

// List returns the rows, newest first.
func (a Audit) List(ctx context.Context) ([]Entry, error) {
	values, err := a.State.List(ctx, store.AuditSpace)
	if err != nil {
		return nil, err
	}
	all := make([]Entry, len(values))
	for i, v := range values {
		if err := json.Unmarshal(v.Data, &all[i]); err != nil {
			return nil, fmt.Errorf("read the audit: %w", err)
		}
	}
	slices.Reverse(all)
	return all, nil
}
