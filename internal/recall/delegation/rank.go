package delegation

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/analysis"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// evidenceHits is how many messages of a search are considered.
const evidenceHits = 200

// candidate is a message that may hold the answer.
type candidate struct {
	msg   store.Message
	score float64
	// match says that the message has words that were searched for; others
	// stand around a match.
	match   bool
	earlier string // labels an answer from the record
}

// ranking is the outcome of a search: the score of each message, 1 for the
// best, and whether it matches by itself.
type ranking map[store.MessageID]struct {
	score   float64
	match   bool
	earlier string
}

// search ranks the messages of the plan's scope for a text. A text without
// words finds nothing.
func (d *Delegator) search(ctx context.Context, p *plan, text string) (ranking, error) {
	request := store.Search{
		Mode: store.FullText, Pattern: text, Since: p.time.from, Before: p.time.to, Sort: store.ByRelevance, Limit: evidenceHits,
	}
	lookup.Narrow(&request, p.scope)
	found, err := lookup.Search(ctx, d.config.Store, request)
	if errors.Is(err, search.ErrNoWords) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := ranking{}
	best := 1e-9
	for _, h := range found.Hits {
		best = max(best, h.Score)
	}
	// Search puts texts with an identifier of the query first, regardless of their
	// scores: a score here is never below that of a later hit.
	least := 0.0
	for _, h := range slices.Backward(found.Hits) {
		least = max(least, h.Score/best)
		hit := out[h.Message]
		hit.score, hit.match, hit.earlier = least, !h.Beside, h.Earlier
		out[h.Message] = hit
	}
	return out, nil
}

// promptWorth is how much the words of the prompt count among the messages that
// the query finds.
const promptWorth = 0.3

// rank returns the messages that may hold the answer, the best first, in the order of search.
// The prompt decides between matches of the query; without such matches, those of the prompt
// count.
func (d *Delegator) rank(ctx context.Context, r request, p *plan) ([]candidate, error) {
	var byQuery ranking
	var err error
	if r.Query != "" && !repeats(r.Query, r.Prompt) {
		if byQuery, err = d.search(ctx, p, r.Query); err != nil {
			return nil, err
		}
	}
	byPrompt, err := d.search(ctx, p, asWords(r.Prompt))
	if err != nil {
		return nil, err
	}
	first := byQuery
	if len(first) == 0 {
		first = byPrompt
	}
	ids, err := d.inside(ctx, slices.Sorted(maps.Keys(first)), p)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	score := func(m store.MessageID) float64 {
		if len(byQuery) == 0 {
			return byPrompt[m].score
		}
		return byQuery[m].score + promptWorth*byPrompt[m].score
	}
	var all []candidate
	for m, err := range d.config.Store.Messages(ctx, store.MessageQuery{IDs: ids}) {
		if err != nil {
			return nil, err
		}
		all = append(all, candidate{msg: m, score: score(m.ID), match: first[m.ID].match, earlier: first[m.ID].earlier})
	}
	// The best first, and of equals the newer.
	slices.SortFunc(all, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.msg.ID, x.msg.ID))
	})
	return all, nil
}

// repeats reports that a prompt has all words of a query: the query adds nothing to it.
func repeats(query, prompt string) bool {
	asked := analysis.PlainWords([]byte(prompt))
	return !slices.ContainsFunc(analysis.PlainWords([]byte(query)), func(w string) bool { return !slices.Contains(asked, w) })
}

// inside keeps the messages beneath the summaries that the question names. Where search
// finds no message there, it returns the first ones that the summaries cover.
func (d *Delegator) inside(ctx context.Context, found []store.MessageID, p *plan) ([]store.MessageID, error) {
	if p.within == nil && len(found) > 0 {
		return found, nil
	}
	var kept []store.MessageID
	for _, id := range found {
		ok, err := beneath(ctx, d.config.Store, store.ID{Message: id}, p.within)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, id)
		}
	}
	if len(kept) > 0 {
		return kept, nil
	}
	var ids []store.SummaryID
	for _, b := range p.buckets {
		ids = append(ids, b.Summaries...)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	ids = ids[:min(len(ids), maxSeeds)]
	p.opened = ids
	first, err := d.config.Recall.Expand(ctx, recall.ExpandRequest{
		SummaryIDs: ids, Where: recall.Where{AllConversations: true}, TokenCap: recall.DefaultMaxTokens,
	})
	for _, piece := range first.Pieces {
		if piece.ID.Message != 0 {
			kept = append(kept, piece.ID.Message)
		}
	}
	return kept, err
}

// spoken reports a message that a person or a model wrote, without tool calls.
func spoken(m store.Message) bool {
	heard := m.Body.Role != llms.RoleTool && len(m.Body.ToolResults()) == 0 && len(m.Body.ToolCalls()) == 0
	return heard && !m.Flags.Bookkeeping(m.Body.Role) && m.Flags&store.FlagHidden == 0
}

// asWords writes a question so that search reads no operators in it: a question
// about "tar -x", or whether A OR B was chosen, excludes nothing.
func asWords(question string) string {
	words := strings.Fields(question)
	for i, w := range words {
		switch w {
		case "AND", "OR", "NOT":
			words[i] = strings.ToLower(w)
		}
		if len(w) > 1 && (w[0] == '-' || w[0] == '+') && w[1] != w[0] {
			words[i] = w[1:]
		}
	}
	return strings.Join(words, " ")
}
