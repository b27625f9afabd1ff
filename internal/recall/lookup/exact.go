package lookup

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/recall/secondhand"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// exactRanked is the search for a pattern that is plain words: the best of its matches by
// the ranking of the words, then the others, the newest first. Every match comes once.
func (s *Service) exactRanked(ctx context.Context, q *query, of store.Search) (store.Found, error) {
	best, err := s.bestExact(ctx, q, of)
	if err != nil {
		return store.Found{}, err
	}
	rest := of
	rest.Sort, rest.Limit, rest.After = store.ByRecency, of.Limit+len(best), store.Cursor{Below: of.After.Below}
	found, err := s.store.Search(ctx, rest)
	if err != nil {
		return found, err
	}
	ranked := func(h store.Hit) bool {
		return slices.ContainsFunc(best, func(b store.Hit) bool { return b.ID == h.ID })
	}
	at := store.Cursor{Offset: len(best)}
	if len(best) > 0 {
		at.Through, at.Now = best[0].After.Through, best[0].After.Now
	}
	newest := slices.DeleteFunc(found.Hits, ranked)
	for i := range newest {
		at.Below = newest[i].After.Below
		newest[i].After = at
	}
	found.Hits = append(best[min(of.After.Offset, len(best)):], newest...)
	if more := found.Next != nil; more && len(newest) > 0 {
		found.Next = &newest[len(newest)-1].After
	}
	if len(found.Hits) > of.Limit {
		found.Hits = found.Hits[:of.Limit]
		found.Next = &found.Hits[of.Limit-1].After
	}
	return found, nil
}

// bestExact returns the first matches of a pattern in the ranking of its words: those that
// people and agents said, then those of tools.
func (s *Service) bestExact(ctx context.Context, q *query, of store.Search) ([]store.Hit, error) {
	of.Mode, of.Sort, of.Limit, of.CountTo = store.FullText, store.ByRelevance, manyMatches, 0
	of.After = store.Cursor{Through: of.After.Through, Now: of.After.Now}
	if of.Pattern = strings.TrimPrefix(of.Pattern, ignoreCase); len(strings.Fields(of.Pattern)) > 1 || isName(of.Pattern) {
		of.Pattern = `"` + strings.ReplaceAll(of.Pattern, `"`, "") + `"`
	}
	speakers := [][]llms.Role{{llms.RoleUser, llms.RoleAssistant}, {llms.RoleTool}}
	if len(of.Roles) > 0 || of.Summaries {
		speakers = [][]llms.Role{of.Roles}
	}
	var best []store.Hit
	for _, of.Roles = range speakers {
		found, err := s.store.Search(ctx, of)
		if errors.Is(err, search.ErrNoWords) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		found.Hits = slices.DeleteFunc(found.Hits, func(h store.Hit) bool { return h.Beside })
		if err := s.sayMost(ctx, found.Hits); err != nil {
			return nil, err
		}
		found.Hits = found.Hits[:min(sourcesRanked, len(found.Hits))]
		if !of.Summaries {
			err = sourcesFirst(ctx, s.store, q.search.Pattern, found.Hits)
		}
		if err != nil {
			return nil, err
		}
		for _, h := range found.Hits {
			of.After.Through, of.After.Now = h.After.Through, h.After.Now
			text, err := s.store.Text(ctx, h.ID)
			if _, err = harmless(err); err != nil {
				return nil, err
			}
			if q.re.Match(text) {
				h.After.Offset = len(best) + 1
				best = append(best, h)
			}
		}
	}
	return best, nil
}

// onlyAskings reports that every match of an answer is an earlier asking of the same
// question, or rests on a call of lcm.
func (s *Service) onlyAskings(ctx context.Context, q *query, a recall.GrepAnswer) (bool, error) {
	if a.NextCursor != "" || len(a.Matches) == 0 {
		return false, nil
	}
	var hits []store.Hit
	for _, m := range a.Matches {
		if m.ID.Message == 0 {
			return false, nil
		}
		hits = append(hits, store.Hit{ID: m.ID})
	}
	messages, _, err := s.load(ctx, hits)
	if err != nil {
		return false, err
	}
	now := contentWords(q.search.Pattern)
	read := exchanges{store: s.store}
	for _, m := range messages {
		e, err := read.origin(ctx, m)
		if err != nil {
			return false, err
		}
		prompt, ok := secondhand.Asking(e.messages)
		if asked := contentWords(prompt); !secondhand.Messages(e.messages)[e.place(m)] && !(ok && sameAsking(now, asked)) {
			return false, nil
		}
	}
	return true, nil
}

// Bounds of the matches of a word that are ordered by what else they say.
const fewMatches, manyMatches = 12, 400

// sayMost puts the hits first that say most beside the words of the question: of a thousand
// messages with a word, the ones that hold facts have words that the others do not have, and
// "I look at the queue" has none. Up to fewMatches hits keep their order: with so few, every word is
// rare.
func (s *Service) sayMost(ctx context.Context, hits []store.Hit) error {
	if len(hits) <= fewMatches {
		return nil
	}
	said, in := make(map[store.ID]map[string]bool, len(hits)), map[string]int{}
	for _, h := range hits {
		text, err := s.store.Text(ctx, h.ID)
		if _, err = harmless(err); err != nil {
			return err
		}
		said[h.ID] = contentWords(string(text[:min(len(text), 2000)]))
		for w := range said[h.ID] {
			in[w]++
		}
	}
	worth := map[store.ID]float64{}
	for n, words := range said {
		for w := range words {
			worth[n] += math.Log(float64(len(hits)) / float64(in[w]))
		}
		worth[n] /= float64(len(words) + 8) // the mean, less for a text of a few words
	}
	slices.SortStableFunc(hits, func(a, b store.Hit) int { return cmp.Compare(worth[b.ID], worth[a.ID]) })
	return nil
}
