package compact

import (
	"context"
	"slices"

	"github.com/lossless-context/lcm/store"
)

// latest is the summary that a run made last: the next fold is often told what
// the one before it says.
type latest struct {
	id   store.SummaryID
	body string
}

// unmade stands for the id of a summary that is being written to the store.
const unmade = store.SummaryID("unmade")

// ahead is what was found while a fold was written: the plan after it, what the
// next fold is made from, and the items that follow those of the view's oldest
// part.
type ahead struct {
	step     Step
	material *material
	follows  store.SummaryID // the summary before the fold, as it was then
	more     []store.Item
}

// lookAhead begins to read what the run will want after the fold over some
// items, which is being written. The view is the one after that fold. What it
// returns waits for the end of it; a failure to read is left to whoever wants it.
func (n *run) lookAhead(ctx context.Context, over []store.Item) (wait func()) {
	done := make(chan *ahead, 1)
	go func() {
		a := &ahead{step: Plan(n.view, n.lim, n.pol)}
		if f := a.step.Fold; f != nil && !slices.ContainsFunc(n.view.Items[f.From:f.To], isUnmade) {
			a.follows = n.before(*f)
			a.material, _ = n.load(ctx, *f)
		}
		if n.runsOut() {
			a.more = n.further(ctx, over)
		}
		done <- a
	}()
	return func() {
		n.ahead = <-done
		n.next = &n.ahead.step
	}
}

// runsOut reports whether most of the oldest items that were read are folded.
func (n *run) runsOut() bool { return n.view.Skipped > 0 && n.view.Gap < windowOldest/2 }

// further reads the items that follow the oldest ones. It returns none if the
// view has changed otherwise than by the fold that is being written: then it is
// better read again.
func (n *run) further(ctx context.Context, over []store.Item) []store.Item {
	if n.view.Gap == 0 {
		return nil
	}
	end := n.view.Items[n.view.Gap-1].Pos
	if over[0].Pos <= end {
		end = max(end, over[len(over)-1].Pos) // the fold took the last of them
	}
	w := store.Window{After: end, Oldest: min(windowOldest, n.view.Skipped)}
	v, err := n.store.View(ctx, n.id, w)
	if before := n.view.Count + len(over) - 1; err != nil || v.Count != n.view.Count && v.Count != before {
		return nil
	}
	newest := n.view.Items[n.view.Gap:]
	if len(v.Items) != w.Oldest || len(newest) > 0 && v.Items[w.Oldest-1].Pos >= newest[0].Pos {
		return nil // it is not what was skipped
	}
	return v.Items
}

func isUnmade(it store.Item) bool { return it.Summary == unmade }

// take returns the material of a fold: what was loaded ahead if it is of the
// same items, or it is loaded now.
func (n *run) take(ctx context.Context, f Fold) (*material, error) {
	a := n.ahead
	n.ahead = nil
	if a == nil || a.material == nil || !n.isOf(a, f) {
		return n.load(ctx, f)
	}
	return a.material, nil
}

func (n *run) isOf(a *ahead, f Fold) bool {
	follows := a.follows
	if follows == unmade {
		follows = n.last.id
	}
	m := a.material
	return follows == n.before(f) && m.shape.Kind == f.Kind && m.shape.Depth == f.Depth &&
		slices.EqualFunc(m.nodes, n.view.Items[f.From:f.To], func(node store.Node, it store.Item) bool { return node == it.Node })
}
