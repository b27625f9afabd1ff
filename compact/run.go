package compact

import (
	"context"
	"errors"
	"time"

	"github.com/lossless-context/lcm/assemble"
	"github.com/lossless-context/lcm/store"
	"github.com/lossless-context/lcm/summary"
)

// How much of a view is read at a time, and how often it may have moved.
const (
	windowOldest = 1024
	windowNewest = 256
	maxStale     = 8
)

// maxFailures is how many calls of the summariser may fail in a row before a
// run goes on without it: a provider that is down must not cost a time-out
// for each pass.
const maxFailures = 2

// run is one call of Runner.Run.
type run struct {
	*Runner
	id     store.ConversationID
	mode   Mode
	lim    Limits
	pol    Policy
	began  time.Time
	view   store.View
	report Report
	lease  *lease
	// calls is how many calls of the summariser the ledger still allows.
	calls    int
	failures int            // of the summariser, in a row
	whole    map[int64]bool // positions of messages that no stub makes smaller
}

// loop folds until there is a reason to stop.
func (n *run) loop(ctx context.Context) error {
	limit := n.passLimit()
	for n.report.Reason == "" {
		step := Plan(n.view, n.lim, n.pol)
		stubs := n.pending(step.Stubs)
		switch {
		case step.Fold == nil && len(stubs) == 0 && n.view.Skipped > 0 && n.report.Folds() > 0 && n.view.Gap < windowOldest:
			// The part that was read is used up.
			if err := n.read(ctx); err != nil {
				return err
			}
		case step.Fold == nil && len(stubs) == 0:
			n.finish(step)
		case n.report.Passes >= limit:
			n.report.Reason = Passes
		case n.late() && n.settled():
			n.report.Reason = Deadline
		case len(stubs) > 0:
			if err := n.stub(ctx, stubs); err != nil {
				return err
			}
		default:
			n.report.Passes++
			if err := n.fold(ctx, *step.Fold); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish says why there is nothing left to do.
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

// passLimit bounds the passes. Whoever waits for a run needs all of them, and
// a whole history may have arrived at once: then the size of the view decides.
func (n *run) passLimit() int {
	if n.mode == Soft {
		return n.bounds.MaxPasses
	}
	chunk := n.pol.scaled(n.lim).LeafChunkTokens
	return n.bounds.MaxPasses + 2*(n.view.Tokens/chunk+1)
}

func (n *run) late() bool { return n.clock().Sub(n.began) >= n.bounds.Deadline }

// read reads the view: the oldest items, which are folded first, and the
// newest, which hold the tail.
func (n *run) read(ctx context.Context) error {
	w := store.Window{Oldest: windowOldest, Newest: max(windowNewest, 2*n.pol.FreshTail)}
	v, err := n.store.View(ctx, n.id, w)
	if err == nil {
		n.view = v
		n.report.TokensAfter = v.Tokens
	}
	return err
}

// stale reads the view again after it moved.
func (n *run) stale(ctx context.Context) error {
	if n.report.Stale++; n.report.Stale > maxStale {
		n.report.Reason, n.report.Detail = Moving, "the view kept changing; try again"
		return nil
	}
	return n.read(ctx)
}

// pending leaves out the messages that a stub does not make smaller.
func (n *run) pending(stubs []int) []int {
	var left []int
	for _, i := range stubs {
		if !n.whole[n.view.Items[i].Pos] {
			left = append(left, i)
		}
	}
	return left
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

// fold makes one fold. If nothing makes the run smaller, the plan is not to
// consider runs of that size again.
func (n *run) fold(ctx context.Context, f Fold) error {
	m, err := n.load(ctx, f)
	if err != nil {
		return err
	}
	w, err := n.write(ctx, f, m)
	switch {
	case errors.Is(err, errNotSmaller):
		n.pol.SummaryFloor = max(n.pol.SummaryFloor+1, f.Tokens)
		return nil
	case n.report.Reason != "" || err != nil:
		return err
	}
	var made store.Summary
	err = n.store.Update(ctx, n.id, func(tx store.Writer) (err error) {
		made, err = tx.Fold(ctx, store.NewSummary{Over: n.view.Items[f.From:f.To], Wording: w})
		return err
	})
	if errors.Is(err, store.ErrStale) {
		return n.stale(ctx)
	}
	if err != nil {
		return err
	}
	n.count(f, w)
	return n.apply(ctx, f, made)
}

func (n *run) count(f Fold, w store.Wording) {
	if f.Kind == summary.Leaf {
		n.report.Leaves++
	} else {
		n.report.Condensed++
	}
	n.report.TokensIn += w.TokensIn
	n.report.TokensOut += w.TokensOut
}

// apply brings the view in memory up to date, which is cheaper than reading it
// again, until most of what was read is folded.
func (n *run) apply(ctx context.Context, f Fold, made store.Summary) error {
	v := &n.view
	item := store.Item{Pos: v.Items[f.From].Pos, Node: store.Node{Summary: made.ID}, Tokens: made.Tokens, Depth: made.Depth}
	removed := f.To - f.From - 1
	v.Items[f.From] = item
	v.Items = append(v.Items[:f.From+1], v.Items[f.To:]...)
	v.Count -= removed
	v.Tokens -= f.Tokens - made.Tokens
	if v.Skipped == 0 || f.From < v.Gap {
		v.Gap -= removed
	}
	n.report.TokensAfter = v.Tokens
	if v.Skipped > 0 && v.Gap < windowOldest/4 {
		return n.read(ctx)
	}
	return nil
}
