package compact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/summary"
)

// latest is the summary that a run made last: the next fold is often told what
// the one before it says.
type latest struct {
	id   store.SummaryID
	body string
}

// made is a fold that a run has made: it is in the run's view, and on its way
// to the store.
type made struct {
	id   store.SummaryID // stands for the summary's own until the store gives it one
	kind summary.Kind
	store.NewSummary
}

const unmade = "unmade/"

func isUnmade(id store.SummaryID) bool { return strings.HasPrefix(string(id), unmade) }

// written is what became of a fold.
type written struct {
	made
	summary store.Summary
	err     error
}

// maxWaiting is how many folds may wait to be written, and from how many on a
// transaction takes no more of them. A summariser that takes no time is faster
// than the store.
const maxWaiting = 4

// committer writes folds to the store while the next ones are made: each takes
// about as long where no model is asked. Folds that wait are written in one
// transaction. They are written in the order in which they were made, since
// each relies on the view that the one before it left: where one cannot be
// written, the others of its transaction and those after it are not either, and
// the committer is of no further use.
type committer struct {
	write func(ctx context.Context, next func() []made) ([]written, error)
	lost  chan struct{} // closed when a fold could not be written

	mu      sync.Mutex
	changed sync.Cond
	waiting []made
	busy    bool
	done    []written // and not yet taken
	panic   any       // what the store panicked with
}

func newCommitter(write func(context.Context, func() []made) ([]written, error)) *committer {
	c := &committer{write: write, lost: make(chan struct{})}
	c.changed.L = &c.mu
	return c
}

func (c *committer) isLost() bool {
	select {
	case <-c.lost:
		return true
	default:
		return false
	}
}

// add has a fold written.
func (c *committer) add(ctx context.Context, f made) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.busy && len(c.waiting) >= maxWaiting {
		c.changed.Wait()
	}
	if c.isLost() {
		return
	}
	c.waiting = append(c.waiting, f)
	if !c.busy {
		c.busy = true
		go c.work(ctx)
	}
}

// work writes until nothing waits.
func (c *committer) work(ctx context.Context) {
	ended := false
	defer func() {
		// Whoever waits for the folds can recover, which nobody could here.
		if p := recover(); !ended {
			c.fail(errors.New("the store did not return"), p)
		}
	}()
	for c.more() {
		done, err := c.write(ctx, c.next)
		if err != nil {
			c.fail(err, nil)
			break
		}
		c.mu.Lock()
		c.done = append(c.done, done...)
		c.mu.Unlock()
	}
	ended = true
}

// more reports whether anything waits; if not, the work has ended.
func (c *committer) more() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = len(c.waiting) > 0
	c.changed.Broadcast()
	return c.busy
}

// next takes everything that waits.
func (c *committer) next() []made {
	c.mu.Lock()
	defer c.mu.Unlock()
	folds := c.waiting
	c.waiting = nil
	c.changed.Broadcast()
	return folds
}

func (c *committer) fail(err error, p any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = append(c.done, written{err: err})
	c.waiting, c.busy, c.panic = nil, false, p
	close(c.lost)
	c.changed.Broadcast()
}

// take returns what was written since it was last asked, or with wait once
// everything is.
func (c *committer) take(wait bool) []written {
	c.mu.Lock()
	defer c.mu.Unlock()
	for wait && c.busy {
		c.changed.Wait()
	}
	if c.panic != nil {
		panic(c.panic)
	}
	done := c.done
	c.done = nil
	return done
}

// commit writes folds in one transaction: those that wait, and those that come
// meanwhile, so long as they are few.
func (n *run) commit(ctx context.Context, next func() []made) ([]written, error) {
	var done []written
	folds := next()
	err := n.store.Update(ctx, n.id, func(tx store.Writer) error {
		done = done[:0]
		for i := 0; i < len(folds); i++ {
			s, err := tx.Fold(ctx, folds[i].NewSummary)
			if err != nil {
				return err
			}
			done = append(done, written{made: folds[i], summary: s})
			if len(done) == len(folds) && len(done) < maxWaiting {
				folds = append(folds, next()...)
			}
		}
		return nil
	})
	return done, err
}

// hand puts a fold into the view in memory, which is cheaper than reading it
// again, and has it written.
func (n *run) hand(ctx context.Context, f Fold, w store.Wording) {
	n.handed, n.spent = n.handed+1, false
	m := made{id: store.SummaryID(fmt.Sprint(unmade, n.handed)), kind: f.Kind}
	m.NewSummary = store.NewSummary{Over: slices.Clone(n.view.Items[f.From:f.To]), Wording: w}
	v := &n.view
	removed := f.To - f.From - 1
	v.Items[f.From] = store.Item{Pos: v.Items[f.From].Pos, Node: store.Node{Summary: m.id}, Tokens: w.Tokens, Depth: f.Depth}
	v.Items = slices.Delete(v.Items, f.From+1, f.To)
	v.Count -= removed
	v.Tokens -= f.Tokens - w.Tokens
	if v.Skipped == 0 || f.From < v.Gap {
		v.Gap -= removed
	}
	n.last = latest{m.id, w.Body}
	n.open = append(n.open, m)
	if n.committer == nil {
		n.committer = newCommitter(n.commit)
	}
	n.committer.add(ctx, m)
}

// collect looks at what became of the folds that were handed over, with wait of
// all of them. The view is read again if one of them was stale.
func (n *run) collect(ctx context.Context, wait bool) error {
	if len(n.open) == 0 {
		return nil
	}
	for _, w := range n.committer.take(wait) {
		if errors.Is(w.err, store.ErrStale) {
			return n.stale(ctx)
		}
		if w.err != nil {
			n.open, n.committer = nil, nil
			return w.err
		}
		n.open = n.open[1:]
		n.enter(w)
		n.count(w)
	}
	return nil
}

// enter gives the item of a fold what the store gave its summary.
func (n *run) enter(w written) {
	i := slices.IndexFunc(n.view.Items, func(it store.Item) bool { return it.Summary == w.id })
	item := &n.view.Items[i]
	n.view.Tokens += w.summary.Tokens - item.Tokens
	item.Summary, item.Tokens, item.Depth = w.summary.ID, w.summary.Tokens, w.summary.Depth
	if n.last.id == w.id {
		n.last.id = w.summary.ID
	}
}

func (n *run) count(w written) {
	n.report.TokensAfter += w.summary.Tokens
	for _, it := range w.Over {
		n.report.TokensAfter -= it.Tokens
	}
	if w.kind == summary.Leaf {
		n.report.Leaves++
	} else {
		n.report.Condensed++
	}
	n.report.TokensIn += w.TokensIn
	n.report.TokensOut += w.TokensOut
	if n.told != nil {
		n.told(n.report)
	}
}

// moved waits for the folds that were handed over, and reports whether the view
// is another one than they were made for.
func (n *run) moved(ctx context.Context) (bool, error) {
	stale := n.report.Stale
	err := n.collect(ctx, true)
	return n.report.Stale > stale, err
}

// errLost says that a fold could not be written, so that nobody needs the next.
var errLost = errors.New("the fold before it could not be written")

// lost is closed when a fold that was handed over could not be written.
func (n *run) lost() <-chan struct{} {
	if n.committer == nil {
		return nil
	}
	return n.committer.lost
}

// waits reports whether a fold is of summaries that the store does not have
// yet, or is to be told what one says that is not in memory.
func (n *run) waits(f Fold) bool {
	before := n.before(f)
	return before != n.last.id && isUnmade(before) ||
		slices.ContainsFunc(n.view.Items[f.From:f.To], func(it store.Item) bool { return isUnmade(it.Summary) })
}
