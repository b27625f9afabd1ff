package compact

import (
	"context"
	"errors"
	"slices"
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
	known  int64 // summaries that there were before the view was read
	folded int   // how often the run had folded when the view was read
	report Report
	lease  *lease
	// calls is how many calls of the summariser the ledger still allows.
	calls    int
	failures int            // of the summariser, in a row
	whole    map[int64]bool // positions of messages that no stub makes smaller
	last     latest         // the newest summary of this run
	ahead    *ahead         // what the next fold is likely to need
	next     *Step          // what Plan says to the view, where that is known
}

// loop folds until there is a reason to stop.
func (n *run) loop(ctx context.Context) error {
	limit := n.passLimit()
	for n.report.Reason == "" {
		step := n.plan()
		stubs := n.pending(step.Stubs)
		switch {
		case step.Fold == nil && len(stubs) == 0 && n.view.Skipped > 0 && n.report.Folds() > n.folded && n.view.Gap < windowOldest:
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

// plan is Plan, unless that was asked for the same view already.
func (n *run) plan() Step {
	if next := n.next; next != nil {
		n.next = nil
		return *next
	}
	return Plan(n.view, n.lim, n.pol)
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
		n.view, n.next, n.folded = v, nil, n.report.Folds()
		n.report.TokensAfter = v.Tokens
	}
	return err
}

// stale reads the view again after it moved.
func (n *run) stale(ctx context.Context) error {
	n.last, n.ahead = latest{}, nil
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
	m, err := n.take(ctx, f)
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
	over := slices.Clone(n.view.Items[f.From:f.To])
	n.apply(f, w)
	wait := n.lookAhead(ctx, over)
	var s store.Summary
	err = n.store.Update(ctx, n.id, func(tx store.Writer) (err error) {
		s, err = tx.Fold(ctx, store.NewSummary{Over: over, Wording: w})
		return err
	})
	wait()
	if errors.Is(err, store.ErrStale) {
		return n.stale(ctx)
	}
	if err != nil {
		return err
	}
	n.settle(f, s)
	n.count(f, w)
	return n.refill(ctx)
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

// apply brings the view in memory to what it is after a fold, which is cheaper
// than reading it again. The summary's id is known only once it is made.
func (n *run) apply(f Fold, w store.Wording) {
	v := &n.view
	item := store.Item{Pos: v.Items[f.From].Pos, Node: store.Node{Summary: unmade}, Tokens: w.Tokens, Depth: f.Depth}
	removed := f.To - f.From - 1
	v.Items[f.From] = item
	v.Items = append(v.Items[:f.From+1], v.Items[f.To:]...)
	v.Count -= removed
	v.Tokens -= f.Tokens - w.Tokens
	if v.Skipped == 0 || f.From < v.Gap {
		v.Gap -= removed
	}
	n.last = latest{unmade, w.Body}
}

// settle gives the item of a fold the id of the summary that was made.
func (n *run) settle(f Fold, s store.Summary) {
	item := &n.view.Items[f.From]
	if s.Tokens != item.Tokens || s.Depth != item.Depth {
		n.next = nil // it was planned for another summary
	}
	n.view.Tokens += s.Tokens - item.Tokens
	item.Summary, item.Tokens, item.Depth = s.ID, s.Tokens, s.Depth
	n.last.id = s.ID
	n.report.TokensAfter = n.view.Tokens
}

// extend adds the items that follow the oldest ones.
func (n *run) extend(more []store.Item) {
	v := &n.view
	if last := v.LastUserItem; last != nil && last.Pos <= more[len(more)-1].Pos {
		v.LastUserItem = nil
	}
	v.Items = slices.Insert(v.Items, v.Gap, more...)
	v.Gap += len(more)
	if v.Skipped -= len(more); v.Skipped == 0 {
		v.Gap = len(v.Items)
	}
	n.next = nil // it was planned without them
}

// refill adds to the oldest items of the view once most of them are folded.
func (n *run) refill(ctx context.Context) error {
	switch {
	case !n.runsOut():
	case n.ahead != nil && n.ahead.more != nil:
		n.extend(n.ahead.more)
	default:
		return n.read(ctx)
	}
	return nil
}
