package lcm

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
)

// FoldOptions bound [Engine.FoldDue].
type FoldOptions struct {
	// Conversations are the ones to fold. Nil stands for every active
	// conversation, the last used first.
	Conversations []ConversationID
	// Time is how long FoldDue may take, 0 for as long as it needs. It ends
	// after the run in which it is reached.
	Time time.Duration
	// OnStart is called before each conversation is folded; left counts the
	// conversations to go, this one included.
	OnStart func(c Conversation, left int)
	// OnFold is called after each fold, with the report of its run so far.
	OnFold func(Report)
}

// Folded is the result of [Engine.FoldDue].
type Folded struct {
	Conversations int // in which something was folded
	Folds         int
	Left          int  // conversations that time did not suffice for
	Busy          bool // another process is folding, so that nothing was done
}

// FoldDue folds conversations that are above the soft threshold until they are
// below it. An engine folds its own sessions in the background; FoldDue is for a
// process that folds sessions of other processes.
//
// At most one process is in FoldDue on a store at a time. Other engines may still
// fold their own sessions. If the process is killed, the record stays valid and the
// next process continues.
func (e *Engine) FoldDue(ctx context.Context, o FoldOptions) (f Folded, err error) {
	alone, err := e.runner.Alone(ctx, func(ctx context.Context) error {
		due, err := e.Due(ctx, o.Conversations)
		if err != nil {
			return err
		}
		f, err = e.foldAll(ctx, due, o)
		return err
	})
	f.Busy = !alone && err == nil
	return f, err
}

// Folding reports whether a process is in FoldDue. A second call of FoldDue would
// return at once, with Busy set.
func (e *Engine) Folding(ctx context.Context) (bool, error) { return e.runner.Occupied(ctx) }

// Due returns those of the named conversations, nil for all, that are active
// and above the soft threshold.
func (e *Engine) Due(ctx context.Context, of []ConversationID) (due []Conversation, err error) {
	if of == nil {
		due, err = e.store.Conversations(ctx, store.ConversationQuery{ActiveOnly: true})
	}
	for _, id := range of {
		c, err := e.store.Conversation(ctx, id)
		if err != nil {
			return nil, err
		}
		due = append(due, c)
	}
	return slices.DeleteFunc(due, func(c Conversation) bool { return !c.Active() || !e.isDue(c) }), err
}

// isDue reports whether a conversation is above the soft threshold.
func (e *Engine) isDue(c Conversation) bool {
	return c.ViewTokens >= e.limitsOf(c).Soft
}

// foldAll folds conversations in turn. If one fails, it goes on with the next and
// returns the errors of all.
func (e *Engine) foldAll(ctx context.Context, due []Conversation, o FoldOptions) (f Folded, err error) {
	var ends time.Time
	if o.Time > 0 {
		ends = e.settings.clock().Add(o.Time)
	}
	runner := e.runner.OnFold(o.OnFold)
	for i, c := range due {
		if o.OnStart != nil {
			o.OnStart(c, len(due)-i)
		}
		folds, late, one := e.foldUntil(ctx, runner, c, ends)
		if f.Folds += folds; folds > 0 {
			f.Conversations++
		}
		err = errors.Join(err, one)
		if f.Left = len(due) - i; late || ctx.Err() != nil {
			return f, err
		}
	}
	f.Left = 0
	return f, err
}

// foldUntil folds a conversation until nothing is left to fold, or until ends has
// passed. It checks the time only between runs; the bounds keep a run short.
func (e *Engine) foldUntil(ctx context.Context, runner *compact.Runner, c Conversation, ends time.Time) (folds int, late bool, err error) {
	for {
		if !ends.IsZero() && !e.settings.clock().Before(ends) {
			return folds, true, nil
		}
		r, err := runner.Run(ctx, c.ID, e.limitsOf(c), compact.Soft)
		folds += r.Folds()
		if err != nil {
			return folds, false, err
		}
		e.logRun(r, nil)
		if r.Reason != compact.Passes && r.Reason != compact.Deadline || !r.Progress() {
			return folds, false, nil
		}
	}
}
