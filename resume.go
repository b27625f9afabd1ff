package lcm

import (
	"context"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Resume returns the session of a conversation that exists, by number. An
// archived conversation can be read this way; messages appended to its session go
// to the active segment of its key.
func (e *Engine) Resume(ctx context.Context, id ConversationID) (*Session, error) {
	c, err := e.store.Conversation(ctx, id)
	if err != nil {
		return nil, err
	}
	open := store.NewConversation{Key: c.Key, Agent: c.Agent, Project: c.Project, Title: c.Title, Parent: c.Parent}
	return &Session{engine: e, open: open, conv: c.ID}, nil
}
