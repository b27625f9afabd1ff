package compact

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/record/lease"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
)

// maxStale is how many folds of a run may fail because the view has changed.
const maxStale = 8

// maxFailures is how many calls of the summariser may fail in a row before a
// run continues without it. A provider that is down would otherwise cost a
// time-out in each pass.
const maxFailures = 2

// run is one call of Runner.Run.
type run struct {
	*Runner
	id     store.ConversationID
	mode   Mode
	lim    Limits
	pol    Policy
	began  time.Time
	view   store.View // as the store will have it once the batch is committed
	spent  bool       // no more of the oldest items can be read until some are folded
	report Report
	lease  *lease.Lease
	// calls is how many calls of the summariser the ledger still allows.
	calls    int
	failures int            // of the summariser, in a row
	whole    map[int64]bool // positions of messages that a stub does not make smaller
	more     map[int64]int  // tokens of messages beside those in the store's view, by position
	batch    batch
}

// loop plans, folds and writes until there is a reason to stop. Folds are written
// in batches, each in one transaction, so a crash leaves a valid view at any point.
func (n *run) loop(ctx context.Context) error {
	err := n.steps(ctx)
	if err != nil && ctx.Err() == nil {
		return err
	}
	// The folds of a run that is interrupted are kept: they may have been paid for.
	return errors.Join(err, n.commit(context.WithoutCancel(ctx)))
}

func (n *run) steps(ctx context.Context) error {
	limit := n.passLimit()
	for n.report.Reason == "" {
		step := Plan(n.view, n.lim, n.pol)
		stubs := n.pending(step.Stubs)
		var err error
		switch {
		case n.unsure(step, stubs):
			err = n.refill(ctx)
		case step.Fold == nil && len(stubs) == 0 && len(n.batch.folds) > 0:
			err = n.commit(ctx) // the view may have changed: then there is more to do
		case step.Fold == nil && len(stubs) == 0:
			n.finish(step)
		case n.report.Passes >= limit:
			n.report.Reason = Passes
		case n.late() && n.settled():
			n.report.Reason = Deadline
		case len(stubs) > 0:
			err = n.stub(ctx, stubs)
		default:
			err = n.fold(ctx, *step.Fold)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish sets the reason of a run that has nothing left to do.
func (n *run) finish(step Step) {
	switch {
	case n.view.Tokens < n.lim.Soft, n.mode == Full && n.view.Tokens < n.lim.Hard:
		n.report.Reason = Done
	default:
		n.report.Reason, n.report.Detail = Exhausted, step.Exhausted
	}
}

// settled reports whether a run may stop at its deadline: a hard run must come
// below the hard limit first.
func (n *run) settled() bool { return n.mode != Hard || n.view.Tokens < n.lim.Hard }

// passLimit is the largest number of passes. A caller that waits for a run needs
// all of them, so hard and full runs get more passes for a larger view.
func (n *run) passLimit() int {
	if n.mode == Soft {
		return n.bounds.MaxPasses
	}
	chunk := n.pol.scaled(n.lim).LeafChunkTokens
	return n.bounds.MaxPasses + 6*(n.view.Tokens/chunk+1)
}

func (n *run) late() bool { return n.clock().Sub(n.began) >= n.bounds.Deadline }

// stale reads the view again after another process has changed it.
func (n *run) stale(ctx context.Context) error {
	n.report.Stale++
	if err := n.read(ctx); err != nil {
		return err
	}
	if n.report.Stale > maxStale {
		n.report.Reason, n.report.Detail = Moving, "the view kept changing; try again"
	}
	return nil
}

// pending leaves out the messages that a stub does not make smaller.
func (n *run) pending(stubs []int) []int {
	return slices.DeleteFunc(stubs, func(i int) bool { return n.sizes != nil || n.whole[n.view.Items[i].Pos] })
}

// stub shows messages as references.
func (n *run) stub(ctx context.Context, indices []int) error {
	ids := make([]store.MessageID, len(indices))
	for k, i := range indices {
		ids[k] = n.view.Items[i].Message
	}
	tokens := map[store.MessageID]int{}
	for m, err := range n.store.Messages(ctx, store.MessageQuery{IDs: ids}) {
		if err != nil {
			return err
		}
		tokens[m.ID] = assemble.StubTokens(n.counter, m)
	}
	n.report.Passes++
	for _, i := range indices {
		it := &n.view.Items[i]
		size, found := tokens[it.Message]
		if !found || size >= it.Tokens {
			if n.whole == nil {
				n.whole = map[int64]bool{}
			}
			n.whole[it.Pos] = true
			continue
		}
		err := n.store.Update(ctx, n.id, func(w store.Writer) error { return w.Stub(ctx, it.Message, size) })
		if errors.Is(err, store.ErrStale) {
			return n.stale(ctx)
		}
		if err != nil {
			return err
		}
		n.view.Tokens -= it.Tokens - size
		it.Tokens, it.Stub = size, true
		n.report.Stubs++
		n.report.TokensAfter = n.view.Tokens
	}
	return nil
}

// fold makes one fold: it loads the sources, has them summarised and adds the
// summary to the batch. If no summary is smaller than the sources, later plans
// leave out runs of that size.
func (n *run) fold(ctx context.Context, f Fold) error {
	n.report.Passes++
	m, err := n.load(ctx, f)
	if err != nil {
		return err
	}
	w, err := n.write(ctx, f, m)
	if errors.Is(err, errNotSmaller) {
		n.pol.SummaryFloor = max(n.pol.SummaryFloor+1, f.Tokens)
		return nil
	}
	if err != nil || n.report.Reason != "" {
		return err
	}
	items := slices.Clone(n.view.Items[f.From:f.To])
	for i := range items {
		items[i].Tokens -= n.more[items[i].Pos]
	}
	n.replace(f, n.batch.add(f, items, m.shape, w))
	if len(n.batch.folds) < n.batch.size {
		return nil
	}
	return n.commit(ctx)
}

// replace puts a summary in the place of its sources in the view in memory,
// which is cheaper than reading the view again.
func (n *run) replace(f Fold, s store.Summary) {
	v := &n.view
	removed := f.To - f.From - 1
	v.Items[f.From] = store.Item{Pos: v.Items[f.From].Pos, ID: store.ID{Summary: s.ID}, Tokens: s.Tokens, Depth: s.Depth}
	v.Items = slices.Delete(v.Items, f.From+1, f.To)
	v.Count -= removed
	v.Tokens -= f.Tokens - s.Tokens
	if v.Skipped == 0 || f.From < v.Gap {
		v.Gap -= removed
	}
	n.spent = false
}
