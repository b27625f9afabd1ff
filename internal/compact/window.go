package compact

import (
	"context"
	"slices"

	"github.com/lossless-context/lcm/internal/assemble"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// How much of a view is read: the first of its oldest items, then more of them
// as they are needed, up to windowOldest, and the newest.
const (
	windowFirst  = 384
	windowMore   = 256
	windowOldest = 1024
	windowNewest = 128
)

// read reads the view: some of the oldest items, which are folded first, and
// the newest, which hold the tail.
func (n *run) read(ctx context.Context, oldest int) error {
	w := store.Window{Oldest: oldest, Newest: max(windowNewest, 2*n.pol.FreshTail)}
	v, err := n.store.View(ctx, n.id, w)
	if err == nil {
		n.view, n.spent, n.batch = v, oldest >= windowOldest, batch{size: n.batch.size}
		n.report.TokensAfter = v.Tokens
	}
	return err
}

// unsure reports whether a step might be another one if more of the oldest items
// were known: there is no step, or the fold reaches items that were not read, or a
// call whose result may be among them, or too few items were read for a leaf.
func (n *run) unsure(step Step, stubs []int) bool {
	v := &n.view
	if n.spent || v.Skipped == 0 || v.Gap >= windowOldest || v.Tokens < n.lim.Low {
		return false
	}
	if step.Fold == nil {
		return len(stubs) == 0
	}
	left := n.pol.scaled(n.lim).LeafChunkTokens * 5 / 4
	open := map[string]int{} // calls without a result
	for i, it := range v.Items[:v.Gap] {
		if !it.IsSummary() && it.Role != llms.RoleSystem && it.Pos != v.LastUser {
			left -= it.Tokens
		}
		for _, id := range it.Results {
			delete(open, id)
		}
		for _, id := range it.Calls {
			open[id] = i
		}
	}
	sure := v.Gap
	for _, i := range open {
		if v.Gap-i <= assemble.Reaches()[0] {
			sure = min(sure, i)
		}
	}
	return left > 0 || step.Fold.To >= sure
}

// refill reads more of the oldest items of the view.
func (n *run) refill(ctx context.Context) error {
	more, err := n.further(ctx)
	if err != nil {
		return err
	}
	if more == nil {
		if err := n.commit(ctx); err != nil {
			return err
		}
		return n.read(ctx, windowOldest)
	}
	n.extend(more)
	return nil
}

// further reads the items that follow the oldest ones. It returns none if
// another process has changed the view: then the run reads all of it again.
func (n *run) further(ctx context.Context) ([]store.Item, error) {
	if n.view.Gap == 0 {
		return nil, nil
	}
	w := store.Window{After: n.batch.end(n.view.Items[n.view.Gap-1]), Oldest: min(windowMore, n.view.Skipped)}
	v, err := n.store.View(ctx, n.id, w)
	if err != nil || v.Count != n.view.Count+n.batch.removed {
		return nil, err
	}
	newest := n.view.Items[n.view.Gap:]
	if len(v.Items) != w.Oldest || len(newest) > 0 && v.Items[w.Oldest-1].Pos >= newest[0].Pos {
		return nil, nil // they are not the skipped items
	}
	return v.Items, nil
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
}
