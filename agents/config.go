package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/tools"
)

// AgentConfig describes an agent. LLMEngine and AgentName are required; all other
// fields have a default.
type AgentConfig struct {
	// LLMEngine is the model.
	LLMEngine llms.Model
	// AgentName is the exact name by which other agents find this one.
	AgentName string
	// Description is one line for the prompts of other agents.
	Description string
	// AdvanceDescription and Troubleshooting are the texts that expand returns.
	AdvanceDescription string
	Troubleshooting    string // shown by expand: what may go wrong when the agent is a tool
	// SystemPrompt opens the system prompt. Lists of tools and sub-agents are
	// added after it.
	SystemPrompt string
	Tools        []llms.Tool     // that the agent may call
	SubAgents    []core.SubAgent // agents that it may call like tools
	// Memory continues one conversation over several chats. Without it, every
	// chat stands alone.
	Memory Memory

	// Model replaces the default model of LLMEngine.
	Model string
	// MaxTokens limits each answer of the model; 0 is the default of LLMEngine.
	MaxTokens int
	// Temperature is the default of LLMEngine when nil.
	Temperature *float64
	// Effort is how much a model that reasons shall think; see [llms.Request].
	Effort string

	// MaxToolIterations is how many rounds of tool calls one chat may take.
	// Default 25.
	MaxToolIterations int
	// MaxToolCalls is how many tool calls one chat may make. Default 200.
	MaxToolCalls int
	// MaxChatTokens bounds the tokens of the model calls of one chat, in and out. The call
	// that passes it is the last one. Default 5,000,000.
	MaxChatTokens int
	// MaxParallelTools is how many tools run at once in one chat. Default 8.
	MaxParallelTools int
	// ToolTimeout is how long one tool call may take. Default 5 minutes. It
	// does not apply to delegate, llm_map and agentic_map, which have DelegateTimeout.
	ToolTimeout time.Duration
	// DelegateTimeout is how long a sub-agent may go without a sign of life,
	// which is any event in its stream. Default 15 minutes. Raise it above the
	// ToolTimeout of sub-agents whose tools take longer.
	DelegateTimeout time.Duration
	// Timeout bounds a whole chat. Default none but the context's.
	Timeout time.Duration
	// DelegationBudget bounds the work that one chat hands to sub-agents. For an
	// agent that is itself a sub-agent, it can only narrow the budget it was given.
	DelegationBudget tools.Budget
	// Hooks run around every tool call, the first outermost.
	Hooks []tools.Hook
	// ModelHooks run around every model call, the first outermost.
	ModelHooks []ModelHook
	// NeedsApproval reports whether a tool call needs approval, beside those of tools that
	// declare it. The chat then ends with an [*ApprovalError]; see [Decide]. The call waits in
	// the Memory, which must be [Resumable]. A sub-agent cannot wait and needs no Memory: the call
	// is refused, and its model told why.
	NeedsApproval func(ctx context.Context, call llms.ToolCall) bool
	// Logger is told where a tool panicked. Default: nobody is. The model
	// reads of the panic in any case.
	Logger *slog.Logger
}

// ModelHook runs around model calls. Either function may be nil.
type ModelHook struct {
	// Before may change the request. An error ends the chat.
	Before func(ctx context.Context, r *llms.Request) error
	// After sees the answer, or how far it got, and the error of the call.
	After func(ctx context.Context, r llms.Request, answer llms.Response, err error)
}

// The defaults of AgentConfig.
const (
	DefaultMaxToolIterations = 25
	DefaultMaxToolCalls      = 200
	DefaultMaxChatTokens     = 5_000_000
	DefaultMaxParallelTools  = 8
	DefaultToolTimeout       = 5 * time.Minute
	DefaultDelegateTimeout   = 15 * time.Minute
)

// withDefaults returns the config with all defaults set. It copies the slices, so
// that the caller may change its own.
func (c AgentConfig) withDefaults() AgentConfig {
	c.MaxToolIterations = cmp.Or(c.MaxToolIterations, DefaultMaxToolIterations)
	c.MaxToolCalls = cmp.Or(c.MaxToolCalls, DefaultMaxToolCalls)
	c.MaxChatTokens = cmp.Or(c.MaxChatTokens, DefaultMaxChatTokens)
	c.MaxParallelTools = cmp.Or(c.MaxParallelTools, DefaultMaxParallelTools)
	c.ToolTimeout = cmp.Or(c.ToolTimeout, DefaultToolTimeout)
	c.DelegateTimeout = cmp.Or(c.DelegateTimeout, DefaultDelegateTimeout)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.SubAgents = slices.Clone(c.SubAgents)
	c.Hooks, c.ModelHooks = slices.Clone(c.Hooks), slices.Clone(c.ModelHooks)
	c.Tools = slices.Clone(c.Tools)
	if !core.IsNil(c.Memory) {
		for _, t := range c.Memory.Tools() {
			// Both may bring expand, and one is enough.
			if core.IsNil(t) || t.GetName() != tools.ExpandName || !hasTool(c.Tools, tools.ExpandName) {
				c.Tools = append(c.Tools, t)
			}
		}
	}
	if len(c.SubAgents) > 0 && !hasTool(c.Tools, tools.DelegateName) {
		c.Tools = append(c.Tools, tools.NewDelegateTool())
	}
	return c
}

func hasTool(ts []llms.Tool, name string) bool {
	return slices.ContainsFunc(ts, func(t llms.Tool) bool { return !core.IsNil(t) && t.GetName() == name })
}

// asksForApproval reports whether a tool call may need approval.
func (c AgentConfig) asksForApproval() bool {
	return c.NeedsApproval != nil || slices.ContainsFunc(c.Tools, func(t llms.Tool) bool { return core.BehaviorOf(t).NeedsApproval })
}

// check reports everything that is wrong with the config at once.
func (c AgentConfig) check() error {
	var wrong []error
	if core.IsNil(c.LLMEngine) {
		wrong = append(wrong, errors.New("LLMEngine is missing: an agent needs a model"))
	}
	if strings.TrimSpace(c.AgentName) == "" {
		wrong = append(wrong, errors.New("AgentName is missing"))
	} else if err := core.CheckName(c.AgentName); err != nil {
		wrong = append(wrong, fmt.Errorf("AgentName: %w", err))
	}
	if c.Memory != nil && core.IsNil(c.Memory) {
		wrong = append(wrong, fmt.Errorf("Memory is a nil %T: leave it out for chats that stand alone", c.Memory))
	}
	if min(c.MaxToolIterations, c.MaxToolCalls, c.MaxChatTokens, c.MaxParallelTools, c.MaxTokens) < 0 || min(c.ToolTimeout, c.DelegateTimeout, c.Timeout) < 0 {
		wrong = append(wrong, errors.New("limits and timeouts must not be negative"))
	}
	seen := map[string]bool{}
	for i, t := range c.Tools {
		if err := core.CheckTool(t); err != nil {
			wrong = append(wrong, fmt.Errorf("tool number %d: %w", i+1, err))
			continue
		}
		if seen[t.GetName()] {
			wrong = append(wrong, fmt.Errorf("two tools are named %q: a model could not tell them apart", t.GetName()))
		}
		seen[t.GetName()] = true
	}
	return errors.Join(append(wrong, checkSubAgents(c.AgentName, c.SubAgents)...)...)
}
