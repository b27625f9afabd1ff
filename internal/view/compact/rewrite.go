package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/record/lease"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// Rewrite has a model reword the summaries of a conversation that were made
// without one, the deepest sources first, so that a summary of summaries is
// written from reworded sources. The old text stays as a revision: the DAG is
// a cache, and can be made better at any time. It is a user's order, so the
// bound on calls in a window does not hold for it; a meter's cap does. progress
// is told after each summary; nil is fine.
func (r *Runner) Rewrite(ctx context.Context, id store.ConversationID, progress func(Rewritten)) (Rewritten, error) {
	w := &rewriting{run: &run{Runner: r, id: id, pol: r.policy}, out: Rewritten{Conversation: id, Reason: Done}}
	if r.primary == nil {
		return w.out, errors.New("no model is configured to rewrite summaries with")
	}
	if r.leases != nil {
		held, err := r.leases.Take(ctx, leaseOf(id), false)
		if errors.Is(err, lease.ErrBusy) {
			w.out.Reason = Busy
			return w.out, nil
		}
		if err != nil {
			return w.out, err
		}
		w.lease = held
		defer func() { _ = held.Release(ctx) }() // it also expires by itself
	}
	candidates, err := w.candidates(ctx)
	if err != nil {
		return w.out, err
	}
	w.out.Candidates = len(candidates)
	for _, s := range candidates {
		if err := w.rewrite(ctx, s); err != nil || w.out.Reason != Done {
			return w.out, err
		}
		if progress != nil {
			progress(w.out)
		}
	}
	return w.out, nil
}

// rewriting is one call of Rewrite.
type rewriting struct {
	*run
	out Rewritten
}

// candidates lists the summaries that no model has written, sources before the
// summaries made from them.
func (w *rewriting) candidates(ctx context.Context) ([]store.Summary, error) {
	var all []store.Summary
	for s, err := range w.store.Summaries(ctx, store.SummaryQuery{Conversation: w.id}) {
		if err != nil {
			return nil, err
		}
		if (s.Method == summary.MethodExtractive || s.Method == methodBare) && !s.Retired {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b store.Summary) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.Pos, b.Pos))
	})
	return all, nil
}

// rewrite has one summary reworded.
func (w *rewriting) rewrite(ctx context.Context, s store.Summary) error {
	nodes, err := w.store.Sources(ctx, s.ID)
	if err != nil {
		return err
	}
	if err := w.lease.Renew(ctx); err != nil {
		return err
	}
	f, m, err := w.material(ctx, s, nodes)
	if err != nil {
		return err
	}
	req := summary.Request{Kind: f.Kind, Depth: f.Depth, Level: summary.Normal, Target: f.Target, Sources: m.sources, Counter: w.counter}
	res, err := w.call(ctx, req)
	w.out.TokensIn += res.TokensIn
	w.out.TokensOut += res.TokensOut
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		w.failed(err)
		return nil
	}
	w.failures = 0
	wording, ok := w.accept(f, m, req, res)
	if !ok {
		w.out.Kept++
		return nil
	}
	err = w.store.Update(ctx, w.id, func(tx store.Writer) error {
		_, err := tx.Reword(ctx, s.ID, wording)
		return err
	})
	if err != nil {
		return fmt.Errorf("rewording %s: %w", s.ID, err)
	}
	w.out.Done++
	return nil
}

// failed notes that the summariser failed, and whether it is worth going on.
func (w *rewriting) failed(err error) {
	w.out.Failed++
	w.out.Cause = err
	w.failures++
	switch {
	case isAuth(err):
		w.out.Reason = Auth
	case llms.ClassOf(err) == llms.ClassQuota:
		w.out.Reason = Spend
	case w.failures >= maxFailures:
		w.out.Reason = Failing
	}
}

// material loads the current sources of a summary, which may have been reworded
// since.
func (w *rewriting) material(ctx context.Context, s store.Summary, nodes []store.Node) (Fold, *material, error) {
	w.view = store.View{Gap: len(nodes)}
	for _, node := range nodes {
		w.view.Items = append(w.view.Items, store.Item{Node: node})
	}
	f := Fold{To: len(nodes), Kind: s.Kind, Depth: s.Depth}
	m, err := w.load(ctx, f)
	if err != nil {
		return f, nil, err
	}
	for _, src := range m.sources {
		f.Tokens += max(src.Tokens, w.counter.Count(src.Text))
	}
	f.Target = w.policy.LeafTargetTokens
	if s.Kind == summary.Condensed {
		f.Target = w.policy.CondensedTargetTokens
	}
	f.Target = max(minTarget, min(f.Target, f.Tokens/2))
	return f, m, nil
}
