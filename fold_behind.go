package lcm

import (
	"context"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/view/compact"
)

// foldWait is how long calls of Context wait for a run from its beginning. The
// first fold of a history of 100,000 messages takes more than ten seconds.
const foldWait = time.Second

// foldRun is folding that a call of Context began. It goes on when Context has
// returned.
type foldRun struct {
	began  time.Time
	cancel context.CancelFunc
	done   chan struct{} // closed when report and err are set
	report Report
	err    error
}

// foldFor folds a conversation that is above the hard threshold and waits for it
// until foldWait has passed. Calls for the same conversation share one run, so
// those that come later wait less, or not at all.
func (e *Engine) foldFor(ctx context.Context, id ConversationID, budget int) (Report, error) {
	run := e.startFold(ctx, id, budget)
	timer := time.NewTimer(foldWait - time.Since(run.began))
	defer timer.Stop()
	select {
	case <-run.done:
		return run.report, run.err
	case <-ctx.Done():
		return Report{}, fmt.Errorf("waiting for conversation %d to be folded: %w", id, ctx.Err())
	case <-timer.C:
		return Report{
			Conversation: id, Mode: compact.Hard, Reason: compact.Behind, Elapsed: time.Since(run.began),
			Detail: "folding goes on in the background",
		}, nil
	}
}

// startFold returns the run on a conversation, started if there is none. It
// outlives ctx, because its finished folds would be lost; after Close it
// ends with ctx.
func (e *Engine) startFold(ctx context.Context, id ConversationID, budget int) *foldRun {
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
