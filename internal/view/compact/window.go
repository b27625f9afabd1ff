package compact

import (
	"context"

	"github.com/lossless-context/lcm/internal/record/store"
)

// How many of a view's oldest items are read, and of its newest. Tests lower the first.
var (
	windowOldest = 8192
	windowNewest = 128
)

// read reads the view: some of the oldest items, which are folded first, and
// the newest, which hold the tail.
func (n *run) read(ctx context.Context) error {
	v, err := n.store.View(ctx, n.id, store.Window{Oldest: windowOldest, Newest: max(windowNewest, 2*n.pol.FreshTail)})
	if err == nil {
		n.more = map[int64]int{}
		for i := range v.Items {
			it := &v.Items[i]
			if more := n.sizes[it.Message] - it.Tokens; more > 0 {
				n.more[it.Pos] = more
				it.Tokens += more
				v.Tokens += more
			}
		}
		n.view, n.spent, n.batch = v, true, batch{size: n.batch.size}
		n.report.TokensAfter = v.Tokens
	}
	return err
}

// unsure reports whether a step might be another one if more of the oldest items
// were known: there is no step, or the fold ends in the last quarter of them, where a
// leaf may be cut short and a call may lack its result.
func (n *run) unsure(step Step, stubs []int) bool {
	v := &n.view
	switch {
	case n.spent || v.Skipped == 0 || v.Tokens < n.lim.Low:
		return false
	case step.Fold == nil:
		return len(stubs) == 0
	}
	return step.Fold.To > v.Gap-windowOldest/4
}

// refill writes the batch and reads the view again, whose oldest items then reach
// further.
func (n *run) refill(ctx context.Context) error {
	if err := n.commit(ctx); err != nil {
		return err
	}
	return n.read(ctx)
}
