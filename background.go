package lcm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/record"
)

// maintain has a conversation folded in the background once it is above the
// soft threshold. Below it, nothing happens and nothing is paid.
func maintain(ctx context.Context, e *Engine, c record.Conversation) {
	if e.settings.foreground || !isDue(e, c) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	if e.keeper == nil {
		softly := func(ctx context.Context, id record.ConversationID) (record.FoldReport, error) {
			c, err := e.store.Conversation(ctx, id)
			if err != nil {
				return record.FoldReport{Conversation: id}, err
			}
			return e.runner.Run(ctx, id, e.limits(e.budgets.lastOf(c.Key)), compact.Soft)
		}
		e.keeper = compact.NewMaintainer(detached{context.WithoutCancel(ctx)}, softly, e.logRun)
	}
	e.keeper.Notify(c.ID)
}

// detached is the context of background work, which outlives the call that made it
// necessary and serves other callers too. It has no values: spans of later folds
// do not belong below the span of the first caller, nor do they use that caller's
// model.
type detached struct{ context.Context }

// Value implements [context.Context].
func (detached) Value(any) any { return nil }

// logRun reports background work: it has no caller to return an error to.
func (e *Engine) logRun(r record.FoldReport, err error) {
	switch {
	case err != nil:
		e.settings.log.Error("compaction failed", "conversation", r.Conversation, "err", err)
	case r.Cause != nil:
		e.settings.log.Warn("compaction went on without the summariser", "conversation", r.Conversation, "reason", r.Reason, "err", r.Cause)
	default:
		e.settings.log.Debug("compacted", "report", r.String())
	}
}

// Close ends background work and waits for it as long as ctx allows. A fold
// that is under way is finished or leaves no trace.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	keeper := e.keeper
	e.mu.Unlock()
	err := e.foldRuns().wait(ctx)
	e.foldRuns().cancel()
	if keeper == nil {
		return err
	}
	return errors.Join(err, keeper.Close(ctx))
}

// Settle waits until background work has nothing left to do.
func (e *Engine) Settle(ctx context.Context) error {
	e.mu.Lock()
	keeper := e.keeper
	e.mu.Unlock()
	if err := e.foldRuns().wait(ctx); err != nil || keeper == nil {
		return err
	}
	return keeper.Wait(ctx)
}

// foldWait is how long calls of Context wait for a run from its beginning. The
// first fold of a history of 100,000 messages takes more than ten seconds.
const foldWait = time.Second

// foldRun is folding that a call of Context began. It goes on when Context has
// returned.
type foldRun struct {
	began  time.Time
	cancel context.CancelFunc
	done   chan struct{} // closed when report and err are set
	report record.FoldReport
	err    error
}

// foldFor folds a conversation that is above the hard threshold and waits for it
// until foldWait has passed. Calls for the same conversation share one run, so
// those that come later wait less, or not at all.
func (e *Engine) foldFor(ctx context.Context, id record.ConversationID, budget int) (record.FoldReport, error) {
	run := e.startFold(ctx, id, budget)
	timer := time.NewTimer(foldWait - time.Since(run.began))
	defer timer.Stop()
	select {
	case <-run.done:
		return run.report, run.err
	case <-ctx.Done():
		return record.FoldReport{}, fmt.Errorf("waiting for conversation %d to be folded: %w", id, ctx.Err())
	case <-timer.C:
		return record.FoldReport{
			Conversation: id, Mode: compact.Hard, Reason: compact.Behind, Elapsed: time.Since(run.began),
			Detail: "folding goes on in the background",
		}, nil
	}
}

// startFold returns the run on a conversation, started if there is none. It
// outlives ctx, because its finished folds would be lost; after Close it
// ends with ctx.
func (e *Engine) startFold(ctx context.Context, id record.ConversationID, budget int) *foldRun {
	e.mu.Lock()
	defer e.mu.Unlock()
	if run := e.folds[id]; run != nil {
		return run
	}
	run := &foldRun{began: time.Now(), done: make(chan struct{})}
	if !e.closed {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, run.cancel = context.WithCancel(ctx)
	e.folds[id] = run
	go func() {
		defer run.cancel()
		run.report, run.err = e.runner.Run(ctx, id, e.limits(budget), compact.Hard)
		e.mu.Lock()
		delete(e.folds, id)
		e.mu.Unlock()
		if time.Since(run.began) >= foldWait { // nobody waits for the result
			e.logRun(run.report, run.err)
		}
		close(run.done)
	}()
	return run
}

// foldRuns are the runs that calls of Context began and that have not ended.
type foldRuns []*foldRun

// wait waits until the runs have ended.
func (runs foldRuns) wait(ctx context.Context) error {
	for _, run := range runs {
		select {
		case <-run.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// cancel ends the runs.
func (runs foldRuns) cancel() {
	for _, run := range runs {
		run.cancel()
		<-run.done
	}
}

func (e *Engine) foldRuns() (runs foldRuns) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, run := range e.folds {
		runs = append(runs, run)
	}
	return runs
}
