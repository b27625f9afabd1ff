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

// ahead is material that was loaded while the fold before it was written.
type ahead struct {
	material *material
	follows  store.SummaryID // the summary before the fold, as it was then
}

// lookAhead begins to load what the plan will want after the fold that is
// being written. The view is the one after that fold. What it returns waits
// for the end of it; a failure to load is left to the fold itself.
func (n *run) lookAhead(ctx context.Context) (wait func()) {
	n.ahead = nil
	step := Plan(n.view, n.lim, n.pol)
	n.next = &step
	if step.Fold == nil || slices.ContainsFunc(n.view.Items[step.Fold.From:step.Fold.To], isUnmade) {
		return func() {}
	}
	done := make(chan *ahead, 1)
	go func() {
		m, err := n.load(ctx, *step.Fold)
		if err != nil {
			done <- nil
			return
		}
		done <- &ahead{material: m, follows: n.before(*step.Fold)}
	}()
	return func() { n.ahead = <-done }
}

func isUnmade(it store.Item) bool { return it.Summary == unmade }

// take returns the material of a fold: what was loaded ahead if it is of the
// same items, or it is loaded now.
func (n *run) take(ctx context.Context, f Fold) (*material, error) {
	a := n.ahead
	n.ahead = nil
	if a == nil || !n.isOf(a, f) {
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
