package assemble

import (
	"context"
	"errors"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Finest decides what stands for the old messages of a conversation: the finest summaries
// that fit. The view has the summaries that the last fold left, made for the budget of that fold;
// those beneath them say more. Finest replaces a summary with the ones that it was made of, the
// newest first, for as long as everything up to the newest summary costs at most room tokens.
// Messages stay behind their summaries.
//
// What comes after the newest summary does not count, so the result stays the same until the
// next fold, and a provider's prompt cache keeps working.
func Finest(ctx context.Context, r store.Reader, v store.View, room int) (store.View, error) {
	newest := newestSummary(v)
	if v.Skipped > 0 || v.Damaged || newest < 0 {
		return v, nil
	}
	for _, it := range v.Items[:newest+1] {
		room -= it.Tokens
	}
	items := slices.Clone(v.Items)
	for i := newest; i >= 0 && room > 0; i-- {
		if !items[i].IsSummary() || items[i].Depth == 0 || items[i].Damaged {
			continue
		}
		finer, err := beneath(ctx, r, items[i])
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrDamaged) {
			return v, err
		}
		more := -items[i].Tokens
		for _, it := range finer {
			more += it.Tokens
		}
		if err != nil || finer == nil || more > room {
			break // older ones stay as short
		}
		room -= more
		v.Tokens, v.Count = v.Tokens+more, v.Count+len(finer)-1
		items = slices.Replace(items, i, i+1, finer...)
		i += len(finer) // the newest of them is next
	}
	v.Items = items
	return v, nil
}

func newestSummary(v store.View) int {
	for i := len(v.Items) - 1; i >= 0; i-- {
		if v.Items[i].IsSummary() {
			return i
		}
	}
	return -1
}

// beneath returns the sources of a summary as items, or nil if they cannot take its place: a
// message is among them, or a text was erased.
func beneath(ctx context.Context, r store.Reader, of store.Item) ([]store.Item, error) {
	sources, err := r.Sources(ctx, of.Summary)
	if err != nil {
		return nil, err
	}
	ids := make([]store.SummaryID, len(sources))
	for i, n := range sources {
		if ids[i] = n.Summary; !n.IsSummary() {
			return nil, nil
		}
	}
	var finer []store.Item
	for s, err := range r.Summaries(ctx, store.SummaryQuery{IDs: ids}) {
		if err != nil {
			return nil, err
		}
		if s.Method == store.MethodErased || s.Damaged || s.Depth >= of.Depth {
			return nil, nil
		}
		finer = append(finer, store.Item{Pos: s.Pos, ID: store.ID{Summary: s.ID}, Tokens: s.Tokens, Depth: s.Depth})
	}
	return finer, nil
}
