package lcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/turns"
	"github.com/lossless-context/lcm/llms"
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
