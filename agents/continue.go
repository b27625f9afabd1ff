package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
)

// ErrNothingPending ends a Continue of a conversation whose last turn is complete.
var ErrNothingPending = errors.New("there is no unfinished turn to continue")

// ApprovalError ends a chat that waits for approval of tool calls. See [Decide] and
// [Agent.Continue].
type ApprovalError struct {
	Calls []llms.ToolCall // that wait
}

// Error implements error.
func (e *ApprovalError) Error() string {
	return names("the turn waits for approval of %s", e.Calls)
}

// Continue prepares to go on with an unfinished turn: after a crash, a failure of the model,
// a canceled context or an approval, in this process or another one. The agent's memory must
// be [Resumable]. Tool calls without a result run again if the tool declares that they
// may; of the others the model is told that it is unknown whether they ran. Start runs it
// under ctx.
func (a *Agent) Continue(ctx context.Context) core.IResponseChStarter {
	if a.err != nil {
		return core.Fail(a.err)
	}
	return continuation{ctx, a.starter((*chat).resume)}
}

// continuation is a prepared call that has a context already.
type continuation struct {
	ctx context.Context
	core.StarterFunc
}

// Start implements [core.IResponseChStarter].
func (c continuation) Start() *core.Stream { return c.StartContext(c.ctx) }

// resume brings an unfinished turn to the point where the model is asked next.
func (c *chat) resume(ctx context.Context) error {
	memory, ok := c.memory.(Resumable)
	if !ok {
		return fmt.Errorf("the memory of the agent, a %T, cannot tell what is missing of a turn: use one that is agents.Resumable", c.memory)
	}
	turn, err := memory.Turn(ctx)
	if err != nil {
		return fmt.Errorf("reading the turn: %w", err)
	}
	p := PendingOf(turn)
	if !p.Unfinished {
		return ErrNothingPending
	}
	return c.finish(ctx, p.Calls)
}

// finish gives results to the calls of an earlier run that have none.
func (c *chat) finish(ctx context.Context, calls []PendingCall) error {
	var run, told []llms.ToolCall
	var results []core.Result // of told
	for _, call := range calls {
		b := core.Behavior{Repeatable: true} // the model reads that there is no such tool
		if t, ok := c.tools[call.Name]; ok {
			b = core.BehaviorOf(t)
		}
		switch d := call.Decision; {
		case d != nil && !d.Approved:
			told, results = append(told, call.ToolCall), append(results, core.ErrorResult(denied(*d)))
		case d == nil && (call.Waits || c.asksFor(ctx, call.ToolCall)):
			run = append(run, call.ToolCall) // where it waits on
		case d != nil && !call.started:
			if err := c.startApproved(ctx, call); err != nil {
				return err
			}
			run = append(run, call.ToolCall)
		case b.Repeatable:
			run = append(run, call.ToolCall)
		default:
			told, results = append(told, call.ToolCall), append(results, core.ErrorResult(errUnknownIfRan))
		}
	}
	if err := c.record(ctx, told, results); err != nil {
		return err
	}
	return c.act(ctx, run, func(call llms.ToolCall) bool {
		return slices.ContainsFunc(calls, func(p PendingCall) bool { return p.ID == call.ID && p.Decision != nil })
	})
}

var errUnknownIfRan = errors.New("the program was interrupted during this call. It is unknown whether the call took effect, and it was not made again: check before you repeat it")

func denied(d Decision) error {
	if d.Reason == "" {
		return fmt.Errorf("%s denied this call: do not repeat it", d.By)
	}
	return fmt.Errorf("%s denied this call: %s", d.By, d.Reason)
}

// startApproved notes that an approved call begins, which it does once.
func (c *chat) startApproved(ctx context.Context, call PendingCall) error {
	n := note{call: call.ID, tool: call.Name, state: noteStarted, at: call.Decision.At}
	first, err := c.memory.(Resumable).Note(ctx, n.message())
	if err == nil && !first {
		err = fmt.Errorf("another process runs the call %s of this turn", call.ID)
	}
	return err
}

// asksFor reports whether a call needs approval.
func (c *chat) asksFor(ctx context.Context, call llms.ToolCall) bool {
	t, ok := c.tools[call.Name]
	return ok && (core.BehaviorOf(t).Approval || c.config.NeedsApproval != nil && c.config.NeedsApproval(ctx, call))
}

// act runs calls and records their results. Those that need approval and do not have it wait:
// the chat then ends with an ApprovalError.
func (c *chat) act(ctx context.Context, calls []llms.ToolCall, approved func(llms.ToolCall) bool) error {
	var run, refused, wait []llms.ToolCall
	for _, call := range calls {
		switch {
		case approved(call) || !c.asksFor(ctx, call):
			run = append(run, call)
		case c.scope.Delegated():
			refused = append(refused, call)
		default:
			wait = append(wait, call)
		}
	}
	if err := c.wait(ctx, wait); err != nil {
		return err
	}
	if err := c.record(ctx, refused, refuseAll(refused, errNoApprovalHere)); err != nil {
		return err
	}
	results := c.runAll(ctx, run)
	repeated := c.repeats(run, results)
	if err := errors.Join(repeated, c.record(ctx, run, results)); err != nil {
		return err
	}
	if len(wait) > 0 {
		return &ApprovalError{wait}
	}
	return nil
}

var errNoApprovalHere = errors.New("this call needs the approval of a person, whom a sub-agent cannot ask: say in your answer what should be done")

// wait notes that calls wait for approval.
func (c *chat) wait(ctx context.Context, calls []llms.ToolCall) error {
	for _, call := range calls {
		n := note{call: call.ID, tool: call.Name, state: noteWaits, at: time.Now()}
		if _, err := c.memory.(Resumable).Note(context.WithoutCancel(ctx), n.message()); err != nil {
			return fmt.Errorf("recording that a call waits: %w", err)
		}
		c.emit(core.Event{Kind: core.EventApproval, Call: &call})
	}
	return nil
}

// leave gives results to calls that still wait when the user writes something else.
func (c *chat) leave(ctx context.Context) error {
	memory, ok := c.memory.(Resumable)
	if !ok || !c.config.asksForApproval() {
		return nil
	}
	turn, err := memory.Turn(ctx)
	if err != nil {
		return fmt.Errorf("reading the turn: %w", err)
	}
	var left []llms.ToolCall
	for _, call := range PendingOf(turn).Calls {
		if call.Waits && !call.started {
			left = append(left, call.ToolCall)
		}
	}
	return c.record(ctx, left, refuseAll(left, errLeft))
}

var errLeft = errors.New("this call was not made: it waited for approval, and the user went on")
