package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
)

// Remake writes summaries of a conversation anew from their sources, without a
// model, the shallowest first. It is for texts that are damaged or say nothing:
// the old text stays as a revision. A summary whose sources are not all there
// any more is left, because it may be all that is left of them.
func (r *Runner) Remake(ctx context.Context, id store.ConversationID, ids []store.SummaryID) error {
	alone := *r
	alone.primary = nil
	n := &run{Runner: &alone, id: id, pol: r.policy}
	var chosen []store.Summary
	for s, err := range r.store.Summaries(ctx, store.SummaryQuery{IDs: ids}) {
		if err != nil {
			return err
		}
		chosen = append(chosen, s)
	}
	slices.SortStableFunc(chosen, func(a, b store.Summary) int { return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.Pos, b.Pos)) })
	for _, s := range chosen {
		if err := n.remake(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (n *run) remake(ctx context.Context, s store.Summary) error {
	nodes, err := n.store.Sources(ctx, s.ID)
	if err != nil {
		return err
	}
	f, m, err := n.sourcesOf(ctx, s, nodes)
	if errors.Is(err, store.ErrNotFound) || err == nil && len(nodes) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	wording, err := n.write(ctx, f, m)
	if errors.Is(err, errNotSmaller) {
		body := bareText(m.shape.Messages)
		wording = store.Wording{Body: body, Tokens: m.rendered(n.counter, body), Level: summary.Fallback, Method: methodBare}
	} else if err != nil {
		return err
	}
	if wording.Method == methodBare && s.Method == methodBare && wording.Body == s.Body {
		return nil // nothing shorter than the sources can be said
	}
	err = n.store.Update(ctx, n.id, func(tx store.Writer) error {
		_, err := tx.Reword(ctx, s.ID, wording)
		return err
	})
	if err != nil {
		return fmt.Errorf("rewording %s: %w", s.ID, err)
	}
	return nil
}

// sourcesOf loads the sources of a summary as a fold has them.
func (n *run) sourcesOf(ctx context.Context, s store.Summary, nodes []store.ID) (Fold, *material, error) {
	n.view = store.View{Gap: len(nodes)}
	for _, node := range nodes {
		n.view.Items = append(n.view.Items, store.Item{ID: node})
	}
	f := Fold{To: len(nodes), Kind: s.Kind, Depth: s.Depth}
	m, err := n.load(ctx, f)
	if err != nil {
		return f, nil, err
	}
	for _, src := range m.sources {
		f.Tokens += max(src.Tokens, n.counter.Count(src.Text))
	}
	f.Target = max(minTarget, min(n.policy.TargetTokens, f.Tokens/2))
	return f, m, nil
}
