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
func (r *Runner) Remake(ctx context.Context, id store.ConversationID, ids []store.SummaryID) (Rewritten, error) {
	alone := *r
	alone.primary = nil
	w := &rewriting{run: &run{Runner: &alone, id: id, pol: r.policy}, out: Rewritten{Conversation: id, Candidates: len(ids), Reason: Done}}
	var chosen []store.Summary
	for s, err := range r.store.Summaries(ctx, store.SummaryQuery{IDs: ids}) {
		if err != nil {
			return w.out, err
		}
		chosen = append(chosen, s)
	}
	slices.SortStableFunc(chosen, func(a, b store.Summary) int { return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.Pos, b.Pos)) })
	for _, s := range chosen {
		if err := w.remake(ctx, s); err != nil {
			return w.out, err
		}
	}
	return w.out, nil
}

func (w *rewriting) remake(ctx context.Context, s store.Summary) error {
	nodes, err := w.store.Sources(ctx, s.ID)
	if err != nil {
		return err
	}
	f, m, err := w.material(ctx, s, nodes)
	if errors.Is(err, store.ErrNotFound) || err == nil && len(nodes) == 0 {
		w.out.Kept++
		return nil
	}
	if err != nil {
		return err
	}
	wording, err := w.write(ctx, f, m)
	if errors.Is(err, errNotSmaller) {
		body := bareText(m.shape.Messages)
		wording = store.Wording{Body: body, Tokens: m.rendered(w.counter, body), Level: summary.Fallback, Method: methodBare}
	} else if err != nil {
		return err
	}
	if wording.Method == methodBare && s.Method == methodBare && wording.Body == s.Body {
		w.out.Kept++ // nothing shorter than the sources can be said
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
