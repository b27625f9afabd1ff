package lcm

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/llms"
)

// subAgents runs the sub-agents of package delegation on the agent runtime. The
// record and the runtime meet here and in [Memory].
type subAgents struct{ engine llms.Model }

func newSubAgents(m llms.Model) delegation.Runner { return subAgents{m} }

// maxPages is how many rounds of tool calls a sub-agent may take.
const maxPages = 24

// Name implements [delegation.Runner].
func (r subAgents) Name() string { return r.engine.Name() }

// Spawn implements [delegation.Runner]. The session lives in a transcript in
// memory, and goes with it.
func (r subAgents) Spawn(_ context.Context, c delegation.Child) (delegation.Session, error) {
	agent, err := agents.New(agents.AgentConfig{
		LLMEngine: c.Meter.Engine(r.engine), AgentName: c.Key, SystemPrompt: c.System, Tools: c.Tools,
		Memory: agents.NewTranscript(), MaxToolIterations: maxPages,
	})
	if err != nil {
		return nil, err
	}
	session := &childSession{}
	session.agent.Store(agent)
	return session, nil
}

type childSession struct{ agent atomic.Pointer[agents.Agent] }

// relayName names the sub-agent in events that are relayed to the stream of the agent
// that asked.
const relayName = ExpandQueryName

// Ask implements [delegation.Session]. Calls and costs are relayed to the
// agent that asked; the results of calls are not, because raw content must not
// reach the caller.
func (s *childSession) Ask(ctx context.Context, message string) (string, error) {
	agent := s.agent.Load()
	if agent == nil {
		return "", errors.New("the sub-agent's session is closed")
	}
	stream := agent.ChatStream(message).StartContext(ctx)
	defer stream.Stop()
	for e := range stream.EventsContext(ctx) {
		switch e.Kind {
		case core.EventDone:
			return e.Text, nil
		case core.EventError:
			return "", e.Err
		case core.EventToolCall, core.EventUsage:
			core.Emit(ctx, e.Relayed(relayName))
		}
	}
	return "", context.Cause(ctx)
}

// Close implements [delegation.Session].
func (s *childSession) Close() { s.agent.Store(nil) }
