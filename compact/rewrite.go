package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/store"
	"github.com/lossless-context/lcm/summary"
)

// Rewritten says what Rewrite did.
type Rewritten struct {
	Conversation store.ConversationID
	Candidates   int // summaries that no model has written
	Done         int
	Kept         int // the model's text was no better: not smaller than the sources, or far too long
	TokensIn     int
	TokensOut    int
	// Reason is Done, Auth or Spend; Cause the summariser's last error.
	Reason Reason
	Cause  error
}

// Rewrite has a model reword the summaries of a conversation that were made
// without one, the deepest sources first, so that a summary of summaries is
// written from what was reworded. The old text stays as a revision: the DAG is
// a cache, and can be made better at any time. progress is told after each
// summary; nil is fine.
func (r *Runner) Rewrite(ctx context.Context, id store.ConversationID, progress func(Rewritten)) (Rewritten, error) {
	out := Rewritten{Conversation: id, Reason: Done}
	if r.primary == nil {
		return out, errors.New("no model is configured to rewrite summaries with")
	}
	var candidates []store.Summary
	for s, err := range r.store.Summaries(ctx, store.SummaryQuery{Conversation: id}) {
		if err != nil {
			return out, err
		}
		if s.Model == "" && !s.Retired {
			candidates = append(candidates, s)
		}
	}
	slices.SortStableFunc(candidates, func(a, b store.Summary) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.Pos, b.Pos))
	})
	out.Candidates = len(candidates)
	for _, s := range candidates {
		nodes, err := r.store.Sources(ctx, s.ID)
		if err != nil {
			return out, err
		}
		if err := r.rewrite(ctx, s, nodes, &out); err != nil {
			return out, err
		}
		if out.Reason != Done {
			return out, nil
		}
		if progress != nil {
			progress(out)
		}
	}
	return out, nil
}

// rewrite has one summary reworded.
func (r *Runner) rewrite(ctx context.Context, s store.Summary, nodes []store.Node, out *Rewritten) error {
	n := &run{Runner: r, id: s.Conversation, pol: r.policy}
	f := Fold{From: 0, To: len(nodes), Kind: s.Kind, Depth: s.Depth, Tokens: s.SourceTokens, Target: r.policy.LeafTargetTokens}
	if s.Kind == summary.Condensed {
		f.Target = r.policy.CondensedTargetTokens
	}
	f.Target = min(f.Target, s.SourceTokens/2)
	for _, node := range nodes {
		n.view.Items = append(n.view.Items, store.Item{Node: node})
	}
	n.view.Gap = len(nodes)
	m, err := n.load(ctx, f)
	if err != nil {
		return err
	}
	req := summary.Request{Kind: f.Kind, Depth: f.Depth, Level: summary.Normal, Target: f.Target, Sources: m.sources, Counter: r.counter}
	res, err := n.call(ctx, req)
	out.TokensIn += res.TokensIn
	out.TokensOut += res.TokensOut
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case isAuth(err):
		out.Reason, out.Cause = Auth, err
		return nil
	case err != nil:
		out.Reason, out.Cause = Spend, err
		return nil
	}
	w, ok := n.accept(f, m, req, res)
	if !ok {
		out.Kept++
		return nil
	}
	err = r.store.Update(ctx, s.Conversation, func(tx store.Writer) error {
		_, err := tx.Reword(ctx, s.ID, w)
		return err
	})
	if err != nil {
		return fmt.Errorf("rewording %s: %w", s.ID, err)
	}
	out.Done++
	return nil
}
