package store

import (
	"context"
	"math"
)

// Origin is a part of a conversation that a conversation can name: all of itself, and
// those it was forked from up to the fork.
type Origin struct {
	Conversation ConversationID
	UpTo         int64 // the last Seq that belongs to it
}

// Origins returns the conversation itself and those that it was forked from, newest
// first.
func Origins(ctx context.Context, r Reader, c Conversation) ([]Origin, error) {
	all := []Origin{{c.ID, math.MaxInt64}}
	seen := map[ConversationID]bool{c.ID: true}
	var forks []Message // the messages at which the conversations were forked
	for c.ForkedFrom != 0 && !seen[c.ForkedFrom] {
		for m, err := range r.Messages(ctx, MessageQuery{IDs: []MessageID{c.ForkedAt}, Erased: true}) {
			if err != nil {
				return nil, err
			}
			forks = append(forks, m)
		}
		var err error
		if c, err = r.Conversation(ctx, c.ForkedFrom); err != nil {
			return nil, err
		}
		seen[c.ID] = true
		// A fork at a message that its origin had itself inherited shares no
		// message of the origin.
		upTo := int64(math.MaxInt64)
		for _, m := range forks {
			if m.Conversation == c.ID {
				upTo = min(upTo, m.Seq)
			}
		}
		if upTo < math.MaxInt64 {
			all = append(all, Origin{c.ID, upTo})
		}
	}
	return all, nil
}
