package hook

import (
	"context"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/store"
)

// turnEnds are the events after which nobody waits for the session.
var turnEnds = []string{Stop, SubagentStop, SessionEnd}

// foldDue adds a conversation to rest.Fold if a turn has ended and its view is large
// enough. It reads one row.
func (h *Handler) foldDue(ctx context.Context, e Event, id store.ConversationID, rest *Rest) error {
	if h.FoldAbove <= 0 || id == 0 || !slices.Contains(turnEnds, e.Name) {
		return nil
	}
	c, err := h.Record.Conversation(ctx, id)
	if err != nil {
		return fmt.Errorf("see whether conversation %d is to be folded: %w", id, err)
	}
	if c.ViewTokens >= h.FoldAbove && c.Active() {
		rest.Fold = append(rest.Fold, id)
	}
	return nil
}
