package agents

import (
	"context"
	"errors"
	"fmt"
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
// may; of the others the model is told that it is unknown whether they ran. A new chat instead of
// Continue leaves the turn: calls that wait for approval, also approved ones, are not made, and the
// model is told. Start runs it under ctx. For typed answers see [Continue].
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
	var approved, wait []PendingCall
	for _, call := range calls {
		t, known := c.tools[call.Name]
		switch d := call.Decision; {
		case d != nil && !d.Approved:
			told, results = append(told, call.ToolCall), append(results, core.ErrorResult(denied(*d)))
		case d != nil && !call.started:
			approved = append(approved, call)
		case d == nil && (call.Waits || c.asksFor(ctx, call.ToolCall)):
			wait = append(wait, call)
		case !known || core.BehaviorOf(t).Repeatable: // the model reads that there is no such tool
			run = append(run, call.ToolCall)
		default:
			told, results = append(told, call.ToolCall), append(results, core.ErrorResult(errUnknownIfRan))
		}
	}
	if err := c.record(ctx, told, results); err != nil {
		return err
	}
	for _, call := range approved { // one after the other: what began and has no result may have run
		if err := c.startApproved(ctx, call); err != nil {
			return err
		}
		if err := c.act(ctx, []llms.ToolCall{call.ToolCall}, nil); err != nil {
			return err
		}
	}
	return c.act(ctx, run, wait)
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
	first, err := c.memory.(Resumable).Note(context.WithoutCancel(ctx), n.message())
	if err == nil && !first {
		err = fmt.Errorf("another process runs the call %s of this turn", call.ID)
	}
	return err
}

// asksFor reports whether a call needs approval.
func (c *chat) asksFor(ctx context.Context, call llms.ToolCall) bool {
	t, ok := c.tools[call.Name]
	return ok && (core.BehaviorOf(t).NeedsApproval || c.config.NeedsApproval != nil && c.config.NeedsApproval(ctx, call))
}

// split returns the calls that may run, and those that need approval.
func (c *chat) split(ctx context.Context, calls []llms.ToolCall) (run []llms.ToolCall, wait []PendingCall) {
	for _, call := range calls {
		if c.asksFor(ctx, call) {
			wait = append(wait, PendingCall{ToolCall: call})
		} else {
			run = append(run, call)
		}
	}
	return run, wait
}

// act runs calls and records their results. If others wait for approval, the chat then ends with an
// ApprovalError.
func (c *chat) act(ctx context.Context, run []llms.ToolCall, wait []PendingCall) error {
	waiting := Pending{Calls: wait}.calls()
	if c.scope.Delegated() {
		if err := c.record(ctx, waiting, refuseAll(waiting, errNoApprovalHere)); err != nil {
			return err
		}
		waiting, wait = nil, nil
	}
	if err := c.noteWaiting(ctx, wait); err != nil {
		return err
	}
	if err := c.runAll(ctx, run); err != nil {
		return err
	}
	for _, call := range waiting {
		c.emit(core.Event{Kind: core.EventApproval, Call: &call})
	}
	if len(waiting) > 0 {
		return &ApprovalError{waiting}
	}
	return nil
}

var errNoApprovalHere = errors.New("this call needs the approval of a person, whom a sub-agent cannot ask: say in your answer what should be done")

// noteWaiting notes that calls wait for approval.
func (c *chat) noteWaiting(ctx context.Context, calls []PendingCall) error {
	for _, call := range calls {
		if call.Waits {
			continue // it is noted already
		}
		n := note{call: call.ID, tool: call.Name, state: noteWaits, at: time.Now()}
		if _, err := c.memory.(Resumable).Note(context.WithoutCancel(ctx), n.message()); err != nil {
			return fmt.Errorf("recording that a call waits: %w", err)
		}
	}
	return nil
}

// leave gives results to calls that were not made when the user writes something else.
func (c *chat) leave(ctx context.Context) error {
	memory, ok := c.memory.(Resumable)
	if !ok {
		return nil
	}
	turn, err := memory.Turn(ctx)
	if err != nil {
		return fmt.Errorf("reading the turn: %w", err)
	}
	var left []llms.ToolCall
	var results []core.Result
	for _, call := range PendingOf(turn).Calls {
		if !call.asked || call.started {
			continue
		}
		reason := errLeft
		if call.Decision != nil && !call.Decision.Approved {
			reason = denied(*call.Decision)
		}
		left, results = append(left, call.ToolCall), append(results, core.ErrorResult(reason))
	}
	return c.record(ctx, left, results)
}

var errLeft = errors.New("this call was not made: it waited for approval, and the user went on")
