package tools

import (
	"context"
	"encoding/json"

	"github.com/lossless-context/lcm/core"
)

// Hook runs around the calls of a tool. Either function may be nil.
type Hook struct {
	// Before runs before the tool. It returns the arguments to call it with,
	// or an error, which the model reads instead of a result: that is how a
	// hook forbids a call.
	Before func(ctx context.Context, tool string, args map[string]any) (map[string]any, error)
	// After runs after the tool, also after one that failed or was forbidden
	// by a hook further in. Its results replace the tool's.
	After func(ctx context.Context, tool string, args map[string]any, result core.Result, err error) (core.Result, error)
}

// WithHooks returns t with hooks around it, the first outermost. The decorated
// tool has the name, the parameters and, by way of Unwrap, the descriptions
// of t.
func WithHooks(t core.Tool, hooks ...Hook) core.Tool {
	for i := len(hooks) - 1; i >= 0; i-- {
		t = &hookedTool{inner: t, hook: hooks[i]}
	}
	return t
}

type hookedTool struct {
	inner core.Tool
	hook  Hook
}

func (t *hookedTool) GetName() string             { return t.inner.GetName() }
func (t *hookedTool) Parameters() json.RawMessage { return t.inner.Parameters() }

// Unwrap returns the decorated tool; core.AsDiscoverable looks through it.
func (t *hookedTool) Unwrap() core.Tool { return t.inner }

func (t *hookedTool) Call(ac core.AgentContext, args map[string]any) string {
	return core.CallText(t, ac, args)
}

func (t *hookedTool) Run(ctx context.Context, args map[string]any) (core.Result, error) {
	if t.hook.Before != nil {
		changed, err := t.hook.Before(ctx, t.GetName(), args)
		if err != nil {
			return core.Result{}, err
		}
		args = changed
	}
	result, err := t.inner.Run(ctx, args)
	if t.hook.After != nil {
		return t.hook.After(ctx, t.GetName(), args, result, err)
	}
	return result, err
}
