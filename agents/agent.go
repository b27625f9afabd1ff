package agents

import (
	"context"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/turns"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/tools"
)

// Agent is a model with tools, sub-agents and a memory. It is safe for
// concurrent use, and it is a [core.SubAgent].
type Agent struct {
	config AgentConfig
	hooked []llms.Tool          // the tools of the config, with hooks around them
	tools  map[string]llms.Tool // the same, by name
	specs  []llms.ToolSpec
	system string
	turns  turns.Turns // for a memory that is not a TurnTaker
	err    error
}

var _ core.SubAgent = (*Agent)(nil)

// New returns the agent that the config describes, or everything that is
// wrong with it.
func New(c AgentConfig) (*Agent, error) {
	a := &Agent{config: c.withDefaults()}
	if err := a.config.check(); err != nil {
		return nil, fmt.Errorf("agent %q: %w", c.AgentName, err)
	}
	a.tools = make(map[string]llms.Tool, len(a.config.Tools))
	for _, t := range a.config.Tools {
		hooked := tools.WithHooks(t, a.config.Hooks...)
		a.hooked = append(a.hooked, hooked)
		a.tools[t.GetName()] = hooked
		a.specs = append(a.specs, llms.Spec(t))
	}
	a.system = systemPrompt(a.config)
	return a, nil
}

// NewAgent is New without an error result; prefer New. For a bad config it returns
// an agent whose Err is the error of New and whose chats all fail with it.
func NewAgent(c AgentConfig) *Agent {
	a, err := New(c)
	if err != nil {
		return &Agent{config: c, err: err}
	}
	return a
}

// Err returns the error of the config that the agent was made from, or nil.
func (a *Agent) Err() error { return a.err }

// Name implements [core.SubAgent].
func (a *Agent) Name() string { return a.config.AgentName }

// BasicDescription implements [core.Discoverable].
func (a *Agent) BasicDescription() string { return a.config.Description }

// AdvanceDescription implements [core.Discoverable].
func (a *Agent) AdvanceDescription() string { return a.config.AdvanceDescription }

// Troubleshooting implements [core.Discoverable].
func (a *Agent) Troubleshooting() string { return a.config.Troubleshooting }

// SubAgents returns the agents this one can delegate to.
func (a *Agent) SubAgents() []core.SubAgent { return slices.Clone(a.config.SubAgents) }

// Tools returns the tools of the agent, those that were added for its memory
// and its sub-agents among them.
func (a *Agent) Tools() []llms.Tool { return slices.Clone(a.config.Tools) }

// SystemPrompt returns the system prompt as the model sees it.
func (a *Agent) SystemPrompt() string { return a.system }

// ChatStream prepares a chat with one text from the user.
func (a *Agent) ChatStream(message string) core.IResponseChStarter {
	return a.ChatMessage(llms.User(message))
}

// ChatMessage prepares a chat with a message of any parts, images among them.
func (a *Agent) ChatMessage(m llms.Message) core.IResponseChStarter {
	if a.err != nil {
		return core.Fail(a.err)
	}
	return a.starter(func(c *chat, ctx context.Context) error { return c.begin(ctx, m) })
}

// starter prepares a chat. The function opens it: it brings the conversation to the point
// where the model is asked.
func (a *Agent) starter(open func(*chat, context.Context) error) core.StarterFunc {
	return func(ctx context.Context, emit func(core.Event)) (string, error) {
		text, err := a.chat(ctx, open, emit)
		if err != nil {
			return "", fmt.Errorf("agent %q: %w", a.Name(), err)
		}
		return text, nil
	}
}
