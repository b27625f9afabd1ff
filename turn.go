package lcm

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
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

// Approve approves a tool call that waits for it. The name, which must not be empty, says who does.
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
	if m.session.archivedSegment() != 0 {
		return false, fmt.Errorf("%w: its turn cannot go on", record.ErrArchived)
	}
	done, err := m.session.AppendInputs(ctx, record.Input{Message: note, Flags: record.FlagHidden})
	return err == nil && !done[0].Existed, err
}

// turn reads the last message of the user in the view and what came after it, in the view or as a
// note.
func (s *Session) turn(ctx context.Context) ([]llms.Message, error) {
	id, err := s.known(ctx)
	if err != nil || id == 0 {
		return nil, err
	}
	view, err := s.engine.store.View(ctx, id, store.Window{})
	if err != nil {
		return nil, err
	}
	var tail []record.MessageID
	for _, item := range view.Items {
		if item.IsSummary() || item.Role == llms.RoleUser {
			tail = nil
		}
		if !item.IsSummary() {
			tail = append(tail, item.Message)
		}
	}
	if len(tail) == 0 {
		return nil, nil
	}
	var found []record.Message
	for m, err := range s.engine.store.Messages(ctx, store.MessageQuery{IDs: tail}) {
		if err == nil && len(m.Body.ToolCalls()) > 0 {
			m, err = s.engine.asCalled(ctx, m)
		}
		if err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	for m, err := range s.engine.store.Messages(ctx, store.MessageQuery{Conversation: id, Newest: true, NoRaw: true}) {
		if err != nil {
			return nil, err
		}
		if m.ID < slices.Min(tail) {
			break
		}
		if m.Flags&record.FlagHidden != 0 && m.Body.Role == llms.RoleSystem {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b record.Message) int { return cmp.Compare(a.ID, b.ID) })
	var turn []llms.Message
	for _, m := range found {
		turn = append(turn, m.Body)
	}
	return turn, nil
}

// asCalled returns a message with its tool calls as the model made them, without references to
// files and masks.
func (e *Engine) asCalled(ctx context.Context, m record.Message) (record.Message, error) {
	raw, err := e.store.Record(ctx, m.ID)
	if err != nil {
		return m, err
	}
	said, err := wire.Decode(m.Format, m.Body.Role, raw)
	if err == nil {
		m.Body.Parts = said.Parts
	}
	return m, err
}
