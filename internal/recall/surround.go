package recall

import (
	"context"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// surroundReach is how many messages on either side of a match may be shown.
const surroundReach = 24

// neighbourCost is about the cost of a neighbour's frame, without its text.
const neighbourCost = 12

// surround adds the messages around the matches until they cost so many tokens
// together: an answer is often a few messages after the words of its
// question. All matches get their next neighbours before any gets those beyond,
// and messages after a match come before those that lead to it.
func (s *Service) surround(ctx context.Context, matches []Match, messages map[store.MessageID]store.Message, tokens int) error {
	shown := map[string]bool{}
	spend := func(id, text string) {
		shown[id] = true
		tokens -= s.counter.Count(text) + neighbourCost
	}
	around := make([]*Context, len(matches))
	for i, m := range matches {
		spend(m.ID, m.Snippet)
		if m.Context != nil {
			for _, n := range append(slices.Clone(m.Context.Before), m.Context.After...) {
				spend(n.ID, n.Snippet)
			}
		}
		id, err := store.ParseID(m.ID)
		if err != nil || id.Message == 0 {
			continue
		}
		if around[i], err = s.around(ctx, messages[id.Message], surroundReach); err != nil {
			return err
		}
	}
	taken := make([]map[string]bool, len(matches))
	take := func(i int, list []Neighbour, at int) {
		if at < 0 || at >= len(list) || shown[list[at].ID] || says(list[at]) == "" || s.counter.Count(list[at].Snippet)+neighbourCost > tokens {
			return
		}
		spend(list[at].ID, list[at].Snippet)
		if taken[i] == nil {
			taken[i] = map[string]bool{}
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
func extend(m *Match, around *Context, taken map[string]bool) {
	if len(taken) == 0 {
		return
	}
	had := m.Context
	if had == nil {
		had = &Context{}
	}
	keep := func(all, had []Neighbour) []Neighbour {
		return slices.DeleteFunc(slices.Clone(all), func(n Neighbour) bool {
			return !taken[n.ID] && !slices.ContainsFunc(had, func(h Neighbour) bool { return h.ID == n.ID })
		})
	}
	m.Context = &Context{Before: keep(around.Before, had.Before), After: keep(around.After, had.After)}
}

// says returns the text of a neighbour, or nothing where it is a tool's word
// that a call has worked.
func says(n Neighbour) string {
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
