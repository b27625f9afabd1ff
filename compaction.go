package lcm

import (
	"context"
	"errors"

	"github.com/lossless-context/lcm/internal/view/compact"
)

// lowBySoft is the low threshold by the soft one. `go run ./bench cache` compares
// costs: with a half, a host that compacts is cheaper with a cache of an hour.
const lowBySoft = 0.4

// limits turns a budget into the sizes at which compaction works.
func (e *Engine) limits(budget int) compact.Limits {
	low := e.settings.low
	if low == 0 {
		low = lowBySoft * e.settings.soft
	}
	return compact.Limits{
		Budget: budget,
		Soft:   int(e.settings.soft * float64(budget)),
		Hard:   int(e.settings.hard * float64(budget)),
		Low:    int(low * float64(budget)),
	}
}

// maintain has a conversation folded in the background once it is above the
// soft threshold. Below it, nothing happens and nothing is paid.
func (s *Session) maintain(ctx context.Context, c Conversation) {
	e := s.engine
	if e.settings.foreground || !e.isDue(c) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	if e.keeper == nil {
		softly := func(ctx context.Context, id ConversationID) (Report, error) {
			c, err := e.store.Conversation(ctx, id)
			if err != nil {
				return Report{Conversation: id}, err
			}
			return e.runner.Run(ctx, id, e.limitsOf(c), compact.Soft)
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

// limitsOf are the limits for the last budget of a conversation's session.
func (e *Engine) limitsOf(c Conversation) compact.Limits {
	return e.limits(e.budgets.lastOf(c.Key))
}

// logRun reports background work: it has no caller to return an error to.
func (e *Engine) logRun(r Report, err error) {
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

// CompactOptions says how far Compact goes.
type CompactOptions struct {
	// Budget is the size of the context window; 0 is the last one that the session
	// was used with.
	Budget int
	// Full folds everything outside the fresh tail, below the thresholds
	// too.
	Full bool
	// OnRun is called after each run: a long compaction takes several.
	OnRun func(Report)
	// OnFold is called after each fold, with the report of its run so far.
	OnFold func(Report)
}

// Compact folds the session now, if it is above the soft threshold, until it is
// below the low threshold or nothing is left to fold. The report adds up all
// runs.
func (s *Session) Compact(ctx context.Context, o CompactOptions) (Report, error) {
	budget, err := s.engine.budgets.use(s.open.Key, o.Budget)
	if err != nil {
		return Report{}, err
	}
	id, err := s.known(ctx)
	if err != nil || id == 0 {
		return Report{Reason: compact.Below}, err
	}
	return s.engine.Compact(ctx, id, CompactOptions{Budget: budget, Full: o.Full, OnRun: o.OnRun, OnFold: o.OnFold})
}

// Compact is [Session.Compact] for a conversation by number.
func (e *Engine) Compact(ctx context.Context, id ConversationID, o CompactOptions) (Report, error) {
	if o.Budget == 0 {
		c, err := e.store.Conversation(ctx, id)
		if err != nil {
			return Report{Conversation: id}, err
		}
		o.Budget = e.budgets.lastOf(c.Key)
	}
	mode := compact.Hard
	if o.Full {
		mode = compact.Full
	}
	var total Report
	for {
		r, err := e.runner.OnFold(o.OnFold).Run(ctx, id, e.limits(o.Budget), mode)
		total = addReports(total, r)
		if o.OnRun != nil {
			o.OnRun(r)
		}
		if err != nil || !r.Unfinished() {
			return total, err
		}
	}
}

// addReports adds the report of a run to the total of earlier runs.
func addReports(total, r Report) Report {
	if total.Passes == 0 {
		return r
	}
	r.TokensBefore = total.TokensBefore
	r.Passes += total.Passes
	r.Leaves += total.Leaves
	r.Condensed += total.Condensed
	r.Stubs += total.Stubs
	r.Calls += total.Calls
	r.Fallbacks += total.Fallbacks
	r.Bare += total.Bare
	r.Stale += total.Stale
	r.TokensIn += total.TokensIn
	r.TokensOut += total.TokensOut
	r.Elapsed += total.Elapsed
	return r
}

// Rewrite has the configured summariser reword the summaries of a conversation
// that were made without a model. The old texts stay as revisions.
func (e *Engine) Rewrite(ctx context.Context, id ConversationID, progress func(Rewritten)) (Rewritten, error) {
	return e.runner.Rewrite(ctx, id, progress)
}
