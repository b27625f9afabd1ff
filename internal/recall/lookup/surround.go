package lookup

import (
	"context"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// surroundReach is how many messages on either side of a match may be shown.
const surroundReach = 24

// neighbourCost is about the cost of a neighbour's frame, without its text.
const neighbourCost = 12

// surround adds the messages around the matches until they cost so many tokens
// together: an answer is often a few messages after the words of its
// question. All matches get their next neighbours before any gets those beyond,
// and messages after a match come before those that lead to it.
func (s *Service) surround(ctx context.Context, matches []recall.Match, messages map[store.MessageID]store.Message, tokens int) error {
	shown := map[store.MessageID]bool{}
	spend := func(id store.MessageID, text string) {
		shown[id] = true
		tokens -= s.counter.Count(text) + neighbourCost
	}
	around := make([]*recall.Context, len(matches))
	for i, m := range matches {
		spend(m.ID.Message, m.Snippet)
		if m.Context != nil {
			for _, n := range append(slices.Clone(m.Context.Before), m.Context.After...) {
				spend(n.ID, n.Snippet)
			}
		}
		if m.ID.Message == 0 {
			continue
		}
		var err error
		if around[i], err = s.around(ctx, messages[m.ID.Message], surroundReach); err != nil {
			return err
		}
	}
	taken := make([]map[store.MessageID]bool, len(matches))
	take := func(i int, list []recall.Neighbour, at int) {
		if at < 0 || at >= len(list) || shown[list[at].ID] || says(list[at]) == "" || s.counter.Count(list[at].Snippet)+neighbourCost > tokens {
			return
		}
		spend(list[at].ID, list[at].Snippet)
		if taken[i] == nil {
			taken[i] = map[store.MessageID]bool{}
		}
		taken[i][list[at].ID] = true
	}
	for far := range surroundReach {
		for i, c := range around {
			if c != nil {
				take(i, c.After, far)
				take(i, c.Before, len(c.Before)-1-far)
			}
		}
	}
	for i, c := range around {
		if c != nil {
			extend(&matches[i], c, taken[i])
		}
	}
	return nil
}

// extend adds the neighbours that were taken to those that are shown.
func extend(m *recall.Match, around *recall.Context, taken map[store.MessageID]bool) {
	if len(taken) == 0 {
		return
	}
	had := m.Context
	if had == nil {
		had = &recall.Context{}
	}
	keep := func(all, had []recall.Neighbour) []recall.Neighbour {
		return slices.DeleteFunc(slices.Clone(all), func(n recall.Neighbour) bool {
			return !taken[n.ID] && !slices.ContainsFunc(had, func(h recall.Neighbour) bool { return h.ID == n.ID })
		})
	}
	m.Context = &recall.Context{Before: keep(around.Before, had.Before), After: keep(around.After, had.After)}
}

// says returns the text of a neighbour, or nothing where it is a tool's word
// that a call has worked.
func says(n recall.Neighbour) string {
	if n.Role == llms.RoleTool && len(n.Snippet) < leastOutput {
		return ""
	}
	return n.Snippet
}

// leastOutput is the shortest output of a tool, in bytes, that is shown beside a
// match.
const leastOutput = 40

// blank reports that a text shows nothing.
func blank(text string) bool { return strings.TrimSpace(text) == "" }
