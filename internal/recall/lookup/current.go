package lookup

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/recall/search"
	"github.com/lossless-context/lcm/internal/recall/supersede"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Bounds of the search for what changed the best matches.
const (
	changedMatches = 10 // that are looked at
	changedNames   = 8  // of them that are searched for
	changesFound   = 30 // messages with these names that are read
)

// Changes finds the user's messages that change what the best matches of a question state, but
// do not have its words: they often name only what they replace ("forget RabbitMQ, we
// take NATS"). The search tells where to look.
func Changes(ctx context.Context, db Store, in store.Search, question string, best []store.Message) ([]store.Message, error) {
	var said []supersede.Statement
	for _, m := range best {
		said = append(said, Statement(m))
		in.Except = append(in.Except[:len(in.Except):len(in.Except)], m.ID)
	}
	names := supersede.Names(question, said)
	if len(names) == 0 {
		return nil, nil
	}
	in.Mode, in.Sort, in.Limit, in.Roles = store.FullText, store.ByRelevance, changesFound, []llms.Role{llms.RoleUser}
	in.Pattern = strings.Join(names[:min(len(names), changedNames)], " ")
	found, err := db.Search(ctx, in)
	if errors.Is(err, search.ErrNoWords) { // names of signs alone
		err = nil
	}
	if err != nil || len(found.Hits) == 0 {
		return nil, err
	}
	var ids []store.MessageID
	for _, h := range found.Hits {
		if !h.Beside {
			ids = append(ids, h.Message)
		}
	}
	later := slices.Clone(best)
	for m, err := range db.Messages(ctx, store.MessageQuery{IDs: ids}) {
		if err != nil {
			return nil, err
		}
		later, said = append(later, m), append(said, Statement(m))
	}
	var out []store.Message
	past := supersede.AboutPast(question)
	for i, by := range supersede.By(question, said) {
		if past {
			by, i = i, by // what the best matches changed
		}
		if i >= 0 && i < len(best) && by >= len(best) && !slices.ContainsFunc(out, func(m store.Message) bool { return m.ID == later[by].ID }) {
			out = append(out, later[by])
		}
	}
	return out, nil
}

// comparedHits is how many of the best hits are compared with each other, whatever the
// size of a page: a few alike may be a series.
const comparedHits = 40

// currentFirst puts the messages that change others of the first page of a ranking before
// those, and returns by which one each is superseded. One that ranks behind the page is shown
// on it and again in its own place.
func (s *Service) currentFirst(ctx context.Context, q *query, lanes []*lane, picked []store.Hit) ([]store.Hit, map[store.MessageID]recall.Superseded, error) {
	if q.search.Sort == store.ByRecency || q.kinds == recall.InSummaries || len(lanes[0].found.Hits) == 0 {
		return picked, nil, nil
	}
	hits := lanes[0].found.Hits[:min(len(lanes[0].found.Hits), comparedHits)]
	messages, _, err := s.load(ctx, hits)
	if err != nil {
		return nil, nil, err
	}
	var all []store.Message
	for _, h := range hits {
		all = append(all, messages[h.Message])
	}
	changes, err := Changes(ctx, s.store, q.search, q.search.Pattern, all[:min(len(all), changedMatches)])
	if err != nil {
		return nil, nil, err
	}
	for _, m := range changes {
		if _, ok := messages[m.ID]; !ok {
			all = append(all, m)
		}
	}
	said := make([]supersede.Statement, len(all))
	place := map[store.MessageID]int{}
	for i, m := range all {
		said[i], place[m.ID] = Statement(m), i
	}
	order, by := supersede.Order(q.search.Pattern, said)
	marks := map[store.MessageID]recall.Superseded{}
	for older, later := range by {
		if later < 0 {
			continue
		}
		marks[all[older].ID] = recall.Superseded{ID: all[later].ID, At: said[later].Time}
		here := func(m store.Message) int {
			return slices.IndexFunc(picked, func(h store.Hit) bool { return h.Message == m.ID })
		}
		m, other := all[later], all[older]
		if supersede.AboutPast(q.search.Pattern) {
			m, other = other, m
		}
		if at := here(m); at >= 0 {
			picked[at].NextTo = nil // it is shown by itself
		}
		if at := here(other); at >= 0 && here(m) < 0 {
			picked = slices.Insert(picked, at, store.Hit{Node: store.Node{Message: m.ID}, Conversation: m.Conversation, Time: m.Body.Time, Role: m.Body.Role, Beside: true})
		}
	}
	return reorder(picked, place, order), marks, nil
}

// reorder puts those of the hits that have a place into an order of places. The others
// stay where they are.
func reorder(hits []store.Hit, place map[store.MessageID]int, order []int) []store.Hit {
	rank := make([]int, len(order))
	for i, at := range order {
		rank[at] = i
	}
	var at []int
	var moved []store.Hit
	for i, h := range hits {
		if _, ok := place[h.Message]; ok && h.Message != 0 {
			at, moved = append(at, i), append(moved, h)
		}
	}
	slices.SortStableFunc(moved, func(a, b store.Hit) int { return cmp.Compare(rank[place[a.Message]], rank[place[b.Message]]) })
	for i, to := range at {
		hits[to] = moved[i]
	}
	return hits
}

// Statement is what a message states, as supersede reads it: nothing if no person or
// agent wrote it.
func Statement(m store.Message) supersede.Statement {
	if !m.Flags.Said() || m.Damaged || m.Body.Role == llms.RoleTool {
		return supersede.Statement{}
	}
	return supersede.Statement{Text: m.Body.PlainText(), Time: cmp.Or(m.Body.Time, m.Stored), User: m.Body.Role == llms.RoleUser, Conversation: int64(m.Conversation), Seq: m.Seq}
}
