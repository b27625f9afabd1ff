package compact

import (
	"context"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Entry returns the entry of a conversation. A conversation without trouble has
// the zero entry.
func (l *Ledger) Entry(ctx context.Context, id store.ConversationID) (Entry, error) {
	e, err := l.open(ctx, id)
	if err != nil {
		return Entry{}, err
	}
	return *e, nil
}

// ReadOldest changes how many of a view's oldest items are read at a time.
func ReadOldest(t *testing.T, items int) {
	before := windowOldest
	windowOldest = items
	t.Cleanup(func() { windowOldest = before })
}
