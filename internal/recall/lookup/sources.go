package lookup

import (
	"cmp"
	"context"
	"slices"

	"github.com/lossless-context/lcm/internal/recall/secondhand"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search/analysis"
	"github.com/lossless-context/lcm/llms"
)

const (
	// sourcesRanked is how many of the first hits of a ranking are put in the order of
	// sources. It is the same for every page.
	sourcesRanked = 40
	// sourcesRead is how many hits are read at least, so that the first pages need no more.
	sourcesRead = 50
	// repeatedShare is the share of a question's words that an older exchange has if the
	// reply to an earlier asking of it rests on that exchange.
	repeatedShare = 0.4
	// sameQuestion is the share of words that two askings of a question have in common.
	sameQuestion = 0.8
)

// Search is the search of a store, with the first matches of a full-text question
// in the order of sources.
func Search(ctx context.Context, from Store, q store.Search) (store.Found, error) {
	if q.Mode != store.FullText || q.Sort != store.ByRelevance || q.Summaries || q.After.Offset >= sourcesRead {
		return from.Search(ctx, q)
	}
	wide := q
	wide.Limit, wide.After.Offset = max(sourcesRead, q.After.Offset+q.Limit), 0
	found, err := from.Search(ctx, wide)
	if err != nil {
		return found, err
	}
	if err := sourcesFirst(ctx, from, q.Pattern, found.Hits[:min(sourcesRanked, len(found.Hits))]); err != nil {
		return found, err
	}
	return pageOf(found, q), nil
}

// pageOf cuts a page out of the first hits of a search.
func pageOf(found store.Found, q store.Search) store.Found {
	offset := min(q.After.Offset, len(found.Hits))
	end := min(offset+q.Limit, len(found.Hits))
	for i := range found.Hits {
		found.Hits[i].After.Offset = i + 1
	}
	if found.Next != nil && len(found.Hits) > 0 {
		found.Next = &found.Hits[len(found.Hits)-1].After
	}
	if end < len(found.Hits) {
		found.Next = &found.Hits[end-1].After
	}
	found.Hits = found.Hits[offset:end]
	return found
}

// sourced is a hit with what tells whether it is a source.
type sourced struct {
	hit     store.Hit
	place   int // even; odd behind a source
	message store.Message
	asked   map[string]bool // words of its prompt, if that is a question that no tool answered
	repeats bool            // calls of lcm and what rests on them
}

// sourcesFirst puts hits that repeat the record behind their sources: calls of lcm and
// the replies to them behind all others, and an earlier asking of the same question that was
// answered without a tool behind the older conversations that have its words. A hit that moves gets the score of the one before
// it.
func sourcesFirst(ctx context.Context, from Store, question string, hits []store.Hit) error {
	read := exchanges{store: from}
	list, err := readSourced(ctx, &read, hits)
	if err != nil {
		return err
	}
	now := contentWords(question)
	for i := range list {
		x := &list[i]
		switch {
		case x.repeats:
			x.place = 2 * len(list)
		case sameAsking(now, x.asked):
			for j := len(list) - 1; j > i && x.place == 2*i; j-- { // behind the last of them
				y := list[j]
				if y.repeats || y.hit.Conversation == x.hit.Conversation || !y.hit.Time.Before(x.hit.Time) {
					continue
				}
				e, err := read.of(ctx, y.message)
				if err != nil {
					return err
				}
				if shared(x.asked, e.content()) >= repeatedShare {
					x.place = 2*j + 1
				}
			}
		}
	}
	for i := range list {
		list[i].follow(list)
	}
	slices.SortStableFunc(list, func(a, b sourced) int { return cmp.Compare(a.place, b.place) })
	for i, x := range list {
		if hits[i] = x.hit; i > 0 {
			hits[i].Score = min(hits[i].Score, hits[i-1].Score)
		}
	}
	return nil
}

// follow moves an asking behind the matches that it is next to, if these moved: they are
// askings, too.
func (x *sourced) follow(list []sourced) {
	place := -1
	if len(x.asked) == 0 {
		return
	}
	for _, y := range list {
		if slices.Contains(x.hit.NextTo, y.hit.Message) && (place < 0 || y.place < place) {
			place = y.place
		}
	}
	if place%2 == 1 || place == 2*len(list) {
		x.place = max(x.place, place)
	}
}

// readSourced reads the exchanges of hits.
func readSourced(ctx context.Context, read *exchanges, hits []store.Hit) ([]sourced, error) {
	q := store.MessageQuery{NoRaw: true}
	for _, h := range hits {
		q.IDs = append(q.IDs, h.Message)
	}
	list := make([]sourced, 0, len(hits))
	for m, err := range read.store.Messages(ctx, q) {
		if err != nil {
			return nil, err
		}
		e, err := read.origin(ctx, m)
		if err != nil {
			return nil, err
		}
		n := len(list)
		x := sourced{hit: hits[n], place: 2 * n, message: m}
		x.repeats = secondhand.Messages(e.messages)[e.place(m)]
		if x.repeats && m.Body.Role == llms.RoleAssistant {
			x.hit.Earlier = secondhand.Label(e.messages)
		} else if m.Flags&store.FlagHostSummary != 0 {
			x.hit.Earlier = "a summary by the agent, not the user's words"
		}
		if prompt, ok := secondhand.Asking(e.messages); ok && !x.repeats {
			x.asked = contentWords(prompt)
		}
		list = append(list, x)
	}
	return list, nil
}

// contentWords returns the stems of the words of a text that are not common.
func contentWords(text string) map[string]bool {
	words := map[string]bool{}
	for _, w := range analysis.PlainWords([]byte(text)) {
		if !analysis.IsCommon(w) {
			words[analysis.LightStem(w)] = true
		}
	}
	return words
}

// sameAsking reports that two questions have the same words.
func sameAsking(a, b map[string]bool) bool {
	return len(a) > 0 && shared(a, b) >= sameQuestion && shared(b, a) >= sameQuestion
}

// shared is the share of words that other has too.
func shared(words, other map[string]bool) float64 {
	n := 0
	for w := range words {
		if other[w] {
			n++
		}
	}
	return float64(n) / float64(max(1, len(words)))
}
