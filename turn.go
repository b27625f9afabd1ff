package lcm

import (
	"context"
	"slices"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

var _ agents.Resumable = (*Memory)(nil)

// Pending tells whether the last turn of the session is unfinished, and which of its tool calls
// have no result or wait for approval. [agents.Agent.Continue] goes on with it.
func (s *Session) Pending(ctx context.Context) (agents.Pending, error) {
	turn, err := s.turn(ctx)
	return agents.PendingOf(turn), err
}

// Approve approves a tool call that waits for it. The name says who does.
func (s *Session) Approve(ctx context.Context, callID, by, reason string) error {
	return agents.Decide(ctx, s.Memory(0), callID, agents.Decision{Approved: true, By: by, Reason: reason})
}

// Deny denies a tool call that waits for approval. The model reads the reason.
func (s *Session) Deny(ctx context.Context, callID, by, reason string) error {
	return agents.Decide(ctx, s.Memory(0), callID, agents.Decision{By: by, Reason: reason})
}

// Turn implements [agents.Resumable].
func (m *Memory) Turn(ctx context.Context) ([]llms.Message, error) { return m.session.turn(ctx) }

// Note implements [agents.Resumable].
func (m *Memory) Note(ctx context.Context, note llms.Message) (bool, error) {
	done, err := m.session.AppendInputs(ctx, record.Input{Message: note, Flags: record.FlagHidden})
	return err == nil && !done[0].Existed, err
}

// turn reads the last message of the user in the view, and what came after it. Of the messages
// outside the view, it keeps notes and leaves out those of branches.
func (s *Session) turn(ctx context.Context) ([]llms.Message, error) {
	id, err := s.known(ctx)
	if err != nil || id == 0 {
		return nil, err
	}
	view, err := s.engine.store.View(ctx, id, store.Window{})
	if err != nil {
		return nil, err
	}
	tail := map[record.MessageID]bool{} // the messages behind the last summary
	for _, item := range view.Items {
		if item.Message == 0 {
			clear(tail)
		} else {
			tail[item.Message] = true
		}
	}
	var turn []llms.Message
	for m, err := range s.engine.store.Messages(ctx, store.MessageQuery{Conversation: id, Newest: true, NoRaw: true}) {
		if err != nil {
			return nil, err
		}
		if tail[m.ID] || m.Flags.Bookkeeping(m.Body.Role) && m.Flags&record.FlagHidden != 0 {
			turn = append(turn, m.Body)
		}
		shown := tail[m.ID]
		if delete(tail, m.ID); len(tail) == 0 || shown && m.Body.Role == llms.RoleUser {
			break
		}
	}
	slices.Reverse(turn)
	return turn, nil
}
