package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/guard"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/tools"
)

// runAll runs the calls of one round side by side. Each result is recorded as soon as it is
// there, so that a crash during another call does not leave it unknown.
func (c *chat) runAll(ctx context.Context, calls []llms.ToolCall) error {
	recording := context.WithoutCancel(ctx)
	ctx = core.WithEmitter(ctx, c.emit)
	ctx = llms.WithModel(ctx, ownModel{c.config.LLMEngine, c.config.Model})
	ctx = core.WithAgentContext(ctx, core.AgentContext{
		core.KeyTools:     slices.Clone(c.hooked), // a tool that calls another does not get around the hooks
		core.KeySubAgents: c.SubAgents(),
		core.KeyAgentName: c.Name(),
	})
	results := make([]core.Result, len(calls))
	var recorded error
	var mu sync.Mutex // of recorded, and of the memory
	slots := make(chan struct{}, c.config.MaxParallelTools)
	var running sync.WaitGroup
	for i, call := range calls {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			results[i] = c.runOne(ctx, call)
			shown := c.remarked(call, results[i])
			mu.Lock()
			recorded = errors.Join(recorded, c.record(recording, []llms.ToolCall{call}, []core.Result{shown}))
			mu.Unlock()
			c.emit(core.Event{Kind: core.EventToolResult, Call: &core.Call{ID: call.ID, Name: call.Name}, Result: &shown})
		})
	}
	running.Wait()
	return errors.Join(recorded, c.repeats(calls, results))
}

// ownModel calls an agent's model port under the model name of its config.
type ownModel struct {
	llms.Model
	model string
}

// Stream implements [llms.Model].
func (e ownModel) Stream(ctx context.Context, r llms.Request) iter.Seq2[llms.Event, error] {
	r.Model = cmp.Or(r.Model, e.model)
	return e.Model.Stream(ctx, r)
}

// runOne runs one call. Every error becomes a result for the model.
func (c *chat) runOne(ctx context.Context, call llms.ToolCall) core.Result {
	tool, ok := c.tools[call.Name]
	if !ok {
		return core.ErrorResult(c.unknownTool(call.Name))
	}
	ctx, span := c.span(ctx, "execute_tool", call.Name)
	span.GenAI("tool.name", call.Name)
	span.GenAI("tool.type", "function")
	span.GenAI("tool.call.id", call.ID)
	result, err := c.called(ctx, tool, call)
	span.Outcome(err != nil || result.IsError)
	if result.IsError {
		span.Fail("tool_error")
	}
	endSpan(span, err)
	if err != nil {
		return core.ErrorResult(err)
	}
	return result
}

// called runs a tool with the arguments of a call.
func (c *chat) called(ctx context.Context, tool llms.Tool, call llms.ToolCall) (core.Result, error) {
	args, err := parseArguments(call)
	if err != nil {
		return core.Result{}, err
	}
	return c.contained(ctx, tool, args)
}

func (c *chat) unknownTool(name string) error {
	if len(c.specs) == 0 {
		return fmt.Errorf("there is no tool '%s', and you have no tools at all: answer without", name)
	}
	names := make([]string, len(c.specs))
	for i, spec := range c.specs {
		names[i] = spec.Name
	}
	return fmt.Errorf("there is no tool '%s'. Your tools are: %s", name, strings.Join(names, ", "))
}

// contained runs a tool so that it can neither crash the program nor hold the
// chat up. The goroutine of a tool that ignores its context ends when the tool
// does, and its late result is dropped.
func (c *chat) contained(ctx context.Context, tool llms.Tool, args map[string]any) (core.Result, error) {
	name := tool.GetName()
	ctx, cancel := c.bounded(ctx, name)
	defer cancel()
	result, err := guard.Call(ctx, 0, func(ctx context.Context) (core.Result, error) { return tool.Run(ctx, args) })
	if p, ok := err.(*guard.Panic); ok {
		c.config.Logger.LogAttrs(ctx, slog.LevelError, "a tool panicked",
			slog.String("tool", name), slog.Any("panic", p.Value), slog.String("stack", string(p.Stack)))
		return core.Result{}, fmt.Errorf("tool '%s' crashed: %v", name, p.Value)
	}
	if err == guard.ErrNoResult {
		return core.Result{}, fmt.Errorf("tool '%s' ended without a result", name)
	}
	if err != guard.ErrGivenUp {
		return result, err
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSlowTool):
		return core.Result{}, fmt.Errorf("tool '%s' did not answer within %v and was given up", name, c.config.ToolTimeout)
	case errors.Is(cause, errSilentAgent):
		return core.Result{}, fmt.Errorf("%w for %v and was given up", errSilentAgent, c.config.DelegateTimeout)
	default:
		return core.Result{}, fmt.Errorf("tool '%s' was given up: %w", name, cause)
	}
}

var (
	errSlowTool    = errors.New("the tool took too long")
	errSilentAgent = errors.New("the sub-agent showed no sign of life")
)

// bounded returns the context under which a tool runs. A tool has a time to
// answer in. A sub-agent, or a map over many items, may work for as long as it is seen to work: each of
// its events gives it more time.
func (c *chat) bounded(ctx context.Context, tool string) (context.Context, context.CancelFunc) {
	if tool != tools.DelegateName && tool != toolname.LLMMap && tool != toolname.AgenticMap {
		return context.WithTimeoutCause(ctx, c.config.ToolTimeout, errSlowTool)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(c.config.DelegateTimeout, func() { cancel(errSilentAgent) })
	ctx = core.WithEmitter(ctx, func(e core.Event) {
		timer.Reset(c.config.DelegateTimeout)
		c.emit(e)
	})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// parseArguments reads the arguments of a call.
func parseArguments(call llms.ToolCall) (map[string]any, error) {
	text := strings.TrimSpace(call.Arguments)
	if text == "" {
		return map[string]any{}, nil // how some models call a tool without arguments
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var args map[string]any
	if err := dec.Decode(&args); err != nil {
		return nil, fmt.Errorf("the arguments of tool '%s' are not a JSON object: %w. Send one JSON object", call.Name, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("the arguments of tool '%s' are more than one JSON value. Send one JSON object", call.Name)
	}
	if args == nil {
		return map[string]any{}, nil // null
	}
	return plain(args).(map[string]any), nil
}

// exactInFloat is up to where every integer is a float64.
const exactInFloat = 1 << 53

// plain turns numbers into float64, as Go code expects in a map[string]any, unless
// that would lose digits: a large id must arrive as it was written.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = plain(value)
		}
	case []any:
		for i, value := range v {
			v[i] = plain(value)
		}
	case json.Number:
		if i, err := v.Int64(); err == nil && max(i, -i) <= exactInFloat {
			return float64(i)
		}
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return f
		}
	}
	return v
}
