package compact

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
)

// batch has the folds of a run that are made and not yet written. One transaction
// writes them all, so that readers of the view see them at once. Each change of
// the view makes the provider cache its beginning again.
type batch struct {
	size  int // how many folds are written together
	folds []madeFold
	made  map[store.SummaryID]store.Summary // by their provisional ids
}

// madeFold is a fold of a batch. Its items may be summaries of the same batch.
type madeFold struct {
	Fold
	items   []store.Item
	wording store.Wording
	id      store.SummaryID // provisional
}

// add appends a fold and returns its summary, with a provisional id: the store
// assigns the final one.
func (b *batch) add(f Fold, items []store.Item, shape store.Summary, w store.Wording) store.Summary {
	if b.made == nil {
		b.made = map[store.SummaryID]store.Summary{}
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", items[0].Pos, len(b.folds), w.Body))
	s := shape
	s.ID = store.SummaryID(fmt.Sprintf("sum_%x", digest[:8]))
	s.Pos, s.Body, s.Tokens = items[0].Pos, w.Body, w.Tokens
	b.folds = append(b.folds, madeFold{Fold: f, items: items, wording: w, id: s.ID})
	b.made[s.ID] = s
	return s
}

// commit writes the folds of the batch in one transaction.
func (n *run) commit(ctx context.Context) error {
	if len(n.batch.folds) == 0 {
		return nil
	}
	var final map[store.SummaryID]store.SummaryID
	err := n.store.Update(ctx, n.id, func(tx store.Writer) (err error) {
		final, err = n.batch.write(ctx, tx)
		return err
	})
	if errors.Is(err, store.ErrStale) {
		return n.stale(ctx)
	}
	if err != nil {
		return err
	}
	for i, it := range n.view.Items {
		if id, ok := final[it.Summary]; ok && it.IsSummary() {
			n.view.Items[i].Summary = id
		}
	}
	folds := n.batch.folds
	n.batch, n.report.TokensAfter = batch{size: n.batch.size}, n.view.Tokens
	for _, f := range folds {
		if f.Kind == summary.Leaf {
			n.report.Leaves++
		} else {
			n.report.Condensed++
		}
		n.report.TokensIn += f.wording.TokensIn
		n.report.TokensOut += f.wording.TokensOut
		if n.onFold != nil {
			n.onFold(n.report)
		}
	}
	return nil
}

// write writes the folds and returns the ids that the store gave the summaries, by
// their provisional ids. A text may name a summary of the batch, because the
// summariser is told the ids of its sources.
func (b *batch) write(ctx context.Context, tx store.Writer) (map[store.SummaryID]store.SummaryID, error) {
	final := make(map[store.SummaryID]store.SummaryID, len(b.folds))
	for _, f := range b.folds {
		over, w := slices.Clone(f.items), f.wording
		for i, it := range over {
			if id, ok := final[it.Summary]; ok && it.IsSummary() {
				over[i].Summary = id
				w.Body = strings.ReplaceAll(w.Body, string(it.Summary), string(id))
			}
		}
		s, err := tx.Fold(ctx, store.NewSummary{Over: over, Wording: w})
		if err != nil {
			return nil, err
		}
		final[f.id] = s.ID
	}
	return final, nil
}
