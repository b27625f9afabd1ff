package compact

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
)

// MethodTaken is the method of a summary that another program wrote.
const MethodTaken = "imported"

// Take folds a conversation as another program did: each summary takes the place of its
// sources. These are messages, or summaries before it in the list, by the ids that they have
// there. known counts the summaries that were taken before. The others have no place: their
// sources are not next to each other in the view, because they are folded otherwise.
func (r *Runner) Take(ctx context.Context, id store.ConversationID, given []store.Summary) (taken, known int, err error) {
	n := &run{Runner: r, id: id, pol: r.policy}
	before, err := n.taken(ctx)
	if err == nil {
		n.view, err = r.store.View(ctx, id, store.Window{})
	}
	here := map[store.SummaryID]store.SummaryID{}
	for _, s := range given {
		if err != nil {
			break
		}
		of := slices.Clone(s.Sources)
		for i, node := range of {
			if node.Summary != "" {
				of[i].Summary = here[node.Summary] // an empty one is in no view
			}
		}
		if same, ok := before[fmt.Sprint(of)]; ok {
			here[s.ID] = same
			known++
			continue
		}
		var made store.SummaryID
		if made, err = n.take(ctx, of, s); err == nil && made != "" {
			here[s.ID] = made
			taken++
		}
	}
	return taken, known, err
}

// taken returns the summaries that were taken before, by their sources.
func (n *run) taken(ctx context.Context) (map[string]store.SummaryID, error) {
	before := map[string]store.SummaryID{}
	for s, err := range n.store.Summaries(ctx, store.SummaryQuery{Conversation: n.id}) {
		if err != nil {
			return nil, err
		}
		if s.Method != MethodTaken {
			continue
		}
		of, err := n.store.Sources(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		before[fmt.Sprint(of)] = s.ID
	}
	return before, nil
}

// take folds the items with these nodes, or returns "" if they are no run of the view.
func (n *run) take(ctx context.Context, of []store.ID, s store.Summary) (store.SummaryID, error) {
	if len(of) == 0 || s.Body == "" {
		return "", nil
	}
	f := Fold{Kind: summary.Leaf}
	f.From = slices.IndexFunc(n.view.Items, func(it store.Item) bool { return it.ID == of[0] })
	f.To = f.From + len(of)
	if f.From < 0 || f.To > len(n.view.Items) {
		return "", nil
	}
	over := slices.Clone(n.view.Items[f.From:f.To])
	for i, it := range over {
		if it.ID != of[i] {
			return "", nil
		}
		f.Tokens += it.Tokens
		if it.IsSummary() {
			f.Kind, f.Depth = summary.Condensed, max(f.Depth, it.Depth+1)
		}
	}
	m, err := n.load(ctx, f)
	if err != nil {
		return "", err
	}
	wording := store.Wording{Body: s.Body, Tokens: m.rendered(n.counter, s.Body), Level: summary.Normal, Method: MethodTaken, Model: s.Model}
	if wording.Tokens > 2*f.Tokens+500 { // Verify calls it damaged
		return "", nil
	}
	var made store.Summary
	err = n.store.Update(ctx, n.id, func(w store.Writer) (err error) {
		made, err = w.Fold(ctx, store.NewSummary{Over: over, Wording: wording})
		return err
	})
	if errors.Is(err, store.ErrStale) { // another process folds it now
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("take a summary: %w", err)
	}
	by := store.Item{Pos: made.Pos, ID: store.ID{Summary: made.ID}, Tokens: made.Tokens, Depth: made.Depth}
	n.view.Items = slices.Replace(n.view.Items, f.From, f.To, by)
	return made.ID, nil
}
