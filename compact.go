package lcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/record"
)

// The default low threshold is lowBySoft of the soft one. `go run ./bench cache --low 0.45`
// compares costs: a higher one changes the beginning of the context more often. But a
// view needs about carryTokens to carry real work on (`go run ./bench carry --low 0.3`), so
// small budgets are folded less far: down to carryTokens, or to mostBySoft of the soft
// threshold where that is less, because a view must have room to grow between two folds.
const (
	lowBySoft   = 0.4
	mostBySoft  = 0.8
	carryTokens = 30_000
)

// limits turns a budget into the sizes at which compaction works.
func (e *Engine) limits(budget int) compact.Limits {
	soft := e.settings.soft * float64(budget)
	low := e.settings.low * float64(budget)
	if low == 0 {
		low = max(lowBySoft*soft, min(carryTokens, mostBySoft*soft))
	}
	return compact.Limits{Budget: budget, Soft: int(soft), Hard: int(e.settings.hard * float64(budget)), Low: int(low)}
}

// CompactOptions says how far Compact goes.
type CompactOptions struct {
	// Budget is the size of the context window; 0 is the last one that the session
	// was used with.
	Budget int
	// Full folds everything outside the fresh tail (see [ViewPolicy]), whatever the
	// thresholds say. Left as they are: a run of messages with fewer tokens than an eighth
	// of LeafChunkTokens, and summaries of which there are fewer than are condensed
	// together (see [Policy]).
	Full bool
	// Sizes has the tokens of messages that are larger where the context is used than in the
	// view: an agent sends an output whole where the view has a reference to it. They
	// count by these sizes.
	Sizes map[record.MessageID]int
	// OnRun is called after each run: a long compaction takes several.
	OnRun func(record.FoldReport)
	// OnFold is called after each fold, with the report of its run so far.
	OnFold func(record.FoldReport)
}

// Compact folds the session now, if it is above the soft threshold, until it is
// below the low threshold or nothing is left to fold. It first waits for a run on the
// same conversation that is under way, in this process or another. The report adds up all
// runs.
func (s *Session) Compact(ctx context.Context, o CompactOptions) (record.FoldReport, error) {
	budget, err := s.engine.budgets.use(s.open.Key, o.Budget)
	if err != nil {
		return record.FoldReport{}, err
	}
	id, err := s.known(ctx)
	if err != nil || id == 0 {
		return record.FoldReport{Reason: compact.Below}, err
	}
	return s.engine.Compact(ctx, id, CompactOptions{Budget: budget, Full: o.Full, Sizes: o.Sizes, OnRun: o.OnRun, OnFold: o.OnFold})
}

// Compact is [Session.Compact] for a conversation by number.
func (e *Engine) Compact(ctx context.Context, id record.ConversationID, o CompactOptions) (record.FoldReport, error) {
	if o.Budget == 0 {
		c, err := e.store.Conversation(ctx, id)
		if err != nil {
			return record.FoldReport{Conversation: id}, err
		}
		o.Budget = e.budgets.lastOf(c.Key)
	}
	mode := compact.Hard
	if o.Full {
		mode = compact.Full
	}
	var total record.FoldReport
	for {
		r, err := e.runner.OnFold(o.OnFold).Sized(o.Sizes).Run(ctx, id, e.limits(o.Budget), mode)
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
func addReports(total, r record.FoldReport) record.FoldReport {
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

// FoldOptions bound [Engine.FoldDue].
type FoldOptions struct {
	// Conversations are the ones to fold. Nil stands for every active
	// conversation, the last used first.
	Conversations []record.ConversationID
	// Time is how long FoldDue may take, 0 for as long as it needs. It ends
	// after the run in which it is reached.
	Time time.Duration
	// OnStart is called before each conversation is folded; left counts the
	// conversations to go, this one included.
	OnStart func(c record.Conversation, left int)
	// OnFold is called after each fold, with the report of its run so far.
	OnFold func(record.FoldReport)
}

// FoldResult is the result of [Engine.FoldDue].
type FoldResult struct {
	Conversations int  // in which something was folded
	Folds         int  // summaries made
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
func (e *Engine) FoldDue(ctx context.Context, o FoldOptions) (f FoldResult, err error) {
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
func (e *Engine) Due(ctx context.Context, of []record.ConversationID) (due []record.Conversation, err error) {
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
	return slices.DeleteFunc(due, func(c record.Conversation) bool { return !c.Active() || !isDue(e, c) }), err
}

// isDue reports whether a conversation is above the soft threshold.
func isDue(e *Engine, c record.Conversation) bool {
	return c.ViewTokens >= e.limits(e.budgets.lastOf(c.Key)).Soft
}

// foldAll folds conversations in turn. If one fails, it goes on with the next and
// returns the errors of all.
func (e *Engine) foldAll(ctx context.Context, due []record.Conversation, o FoldOptions) (f FoldResult, err error) {
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
func (e *Engine) foldUntil(ctx context.Context, runner *compact.Runner, c record.Conversation, ends time.Time) (folds int, late bool, err error) {
	for {
		if !ends.IsZero() && !e.settings.clock().Before(ends) {
			return folds, true, nil
		}
		r, err := runner.Run(ctx, c.ID, e.limits(e.budgets.lastOf(c.Key)), compact.Soft)
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

// TakeSummaries folds a conversation as another program did, from its summaries, sources
// first: their ids are those of the program, and their Sources name stored messages, or
// summaries before them by those ids. Private blocks and secrets are removed as from messages.
// It returns how many were taken and how many had been taken before. The others have no place,
// because their sources are folded otherwise.
func (e *Engine) TakeSummaries(ctx context.Context, id record.ConversationID, given []record.Summary) (taken, known int, err error) {
	given = slices.Clone(given)
	for i := range given {
		given[i].Body = e.Title(given[i].Body)
	}
	return e.runner.Take(ctx, id, given)
}

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
