package compact

import (
	"context"
	"errors"
	"time"

	"github.com/lossless-context/lcm/internal/assemble"
	"github.com/lossless-context/lcm/internal/store"
)

// maxStale is how often the view may have moved under a run.
const maxStale = 8

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
	conv   store.Conversation // as it was before the view was read
	ready  *ready             // what was read for the first fold
	spent  bool               // no more of the view's oldest items can be read, unless some are folded
	report Report
	lease  *lease
	// calls is how many calls of the summariser the ledger still allows.
	calls    int
	failures int            // of the summariser, in a row
	whole    map[int64]bool // positions of messages that no stub makes smaller
	last     latest         // the newest summary of this run
	// Folds that were handed over to be written: how many there were, and
	// those of which it is not known yet what became of them.
	handed    int
	open      []made
	committer *committer
}

// loop folds until there is a reason to stop. What was made by then is written.
func (n *run) loop(ctx context.Context) error {
	err := n.passes(ctx)
	if last := n.collect(ctx, true); err == nil {
		err = last
	}
	return err
}

func (n *run) passes(ctx context.Context) error {
	limit := n.passLimit()
	for n.report.Reason == "" {
		if err := n.collect(ctx, false); err != nil || n.report.Reason != "" {
			return err
		}
		step := Plan(n.view, n.lim, n.pol)
		stubs := n.pending(step.Stubs)
		if n.unsure(step, stubs) {
			if err := n.refill(ctx); err != nil {
				return err
			}
			continue
		}
		folds := step.Fold != nil && len(stubs) == 0 && n.report.Passes < limit && !(n.late() && n.settled())
		switch {
		case folds && !n.waits(*step.Fold):
			n.report.Passes++
			if err := n.fold(ctx, *step.Fold); err != nil {
				return err
			}
		case len(n.open) > 0:
			if err := n.collect(ctx, true); err != nil {
				return err
			}
		case step.Fold == nil && len(stubs) == 0:
			n.finish(step)
		case n.report.Passes >= limit:
			n.report.Reason = Passes
		case n.late() && n.settled():
			n.report.Reason = Deadline
		default:
			if err := n.stub(ctx, stubs); err != nil {
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

// stale reads the view again after it moved. What was made from it is lost, and
// counts as one pass.
func (n *run) stale(ctx context.Context) error {
	n.report.Passes -= max(0, len(n.open)-1)
	n.last, n.open, n.committer = latest{}, nil, nil
	n.report.Stale++
	if err := n.read(ctx, windowFirst); err != nil {
		return err
	}
	if n.report.Stale > maxStale && n.report.Reason == "" {
		n.report.Reason, n.report.Detail = Moving, "the view kept changing; try again"
	}
	return nil
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
	m, err := n.gather(ctx, f)
	if err != nil {
		if moved, lost := n.moved(ctx); moved || lost != nil {
			return lost // what could not be read is no longer there
		}
		return err
	}
	w, err := n.write(ctx, f, m)
	switch {
	case errors.Is(err, errLost):
		n.report.Passes-- // the one that was lost counts
		return nil
	case errors.Is(err, errNotSmaller):
		n.pol.SummaryFloor = max(n.pol.SummaryFloor+1, f.Tokens)
		return nil
	case n.report.Reason != "" || err != nil:
		return err
	}
	n.hand(ctx, f, w)
	return nil
}
