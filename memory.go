package lcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/turns"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// Memory is a session as the memory of an agent of package agents. It keeps every
// message of the agent, and its context fits the budget.
//
//	agent, err := agents.New(agents.AgentConfig{
//		LLMEngine: model, AgentName: "support",
//		Memory:    session.Memory(128_000, lcm.WithCallerModel(model)),
//	})
//
// Agents that share one Memory take turns.
type Memory struct {
	session  *Session
	budget   int
	tools    []core.Tool
	guidance string
	turns    turns.Turns
}

var (
	_ agents.Memory    = (*Memory)(nil)
	_ agents.TurnTaker = (*Memory)(nil)
)

// Memory returns the session as an agent's memory, with a budget for the
// messages of one call (0: the last one that the session was used with). The options are those of
// [Session.Tools].
func (s *Session) Memory(budget int, options ...ToolOption) *Memory {
	return &Memory{session: s, budget: budget, tools: s.Tools(options...), guidance: s.Guidance(options...)}
}

// turnWait is how long a chat waits for one of another process, or of another Memory of the
// session.
const turnWait = 10 * time.Second

var errTurnTaken = errors.New("another chat runs in the session")

// TakeTurn implements [agents.TurnTaker]. Only one chat at a time runs in a session, in all
// processes.
func (m *Memory) TakeTurn(ctx context.Context) (done func(), err error) {
	own, err := m.turns.Take(ctx, "")
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeoutCause(ctx, turnWait, fmt.Errorf("%w %q", errTurnTaken, m.session.Key()))
	defer cancel()
	release, err := m.session.engine.runner.HoldTurn(wait, m.session.Key())
	if err != nil {
		own()
		return nil, cmp.Or(context.Cause(wait), err)
	}
	return func() { release(); own() }, nil
}

// ConversationID is the key of the session. It is in the spans of agents.
func (m *Memory) ConversationID() string { return m.session.Key() }

// Append implements [agents.Memory].
func (m *Memory) Append(ctx context.Context, ms ...llms.Message) error {
	return m.session.Append(ctx, ms...)
}

// Context implements [agents.Memory].
func (m *Memory) Context(ctx context.Context) ([]llms.Message, error) {
	c, err := m.session.Context(ctx, m.budget)
	return c.Messages, err
}

// Guidance implements [agents.Memory].
func (m *Memory) Guidance() string { return m.guidance }

// Tools implements [agents.Memory].
func (m *Memory) Tools() []core.Tool { return m.tools }

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
