package delegation

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/lossless-context/lcm/index"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/store"
)

// evidenceHits is how many messages of a search are considered.
const evidenceHits = 200

// candidate is a message that may hold the answer.
type candidate struct {
	msg   store.Message
	score float64 // of the best 1
}

// rank searches for the question and, where it differs, for the query, and
// adds up what a message is worth for both.
func (d *Delegation) rank(ctx context.Context, r Request, p *plan) ([]candidate, error) {
	scores := map[store.MessageID]float64{}
	texts := []string{r.Prompt}
	if r.Query != "" && r.Query != r.Prompt {
		texts = append(texts, r.Query)
	}
	for _, text := range texts {
		found, err := d.config.Store.Search(ctx, store.Search{
			Mode: store.FullText, Pattern: text, Conversations: p.conversations(), Sort: store.ByRelevance, Limit: evidenceHits,
		})
		if errors.Is(err, index.ErrNoWords) {
			continue
		}
		if err != nil {
			return nil, err
		}
		best := 0.0
		for _, h := range found.Hits {
			best = max(best, h.Score)
		}
		for _, h := range found.Hits {
			scores[h.Message] += h.Score / max(best, 1e-9)
		}
	}
	ids, err := d.inside(ctx, slices.Sorted(maps.Keys(scores)), p)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	var all []candidate
	for m, err := range d.config.Store.Messages(ctx, store.MessageQuery{IDs: ids}) {
		if err != nil {
			return nil, err
		}
		all = append(all, candidate{m, scores[m.ID] * weight(m.Body)})
	}
	all = sorted(all)
	if p.within != nil { // what was said around it may lie outside
		return all, nil
	}
	return d.around(ctx, all)
}

// How far around a candidate what was said is looked for, around how many, and
// how much of a candidate's worth goes to what stands before and after it.
const (
	aroundReach = 10
	aroundBest  = 24
	aroundShare = 0.25
)

// around brings in what was said before and after the best candidates: in work
// with tools, a question and its answer stand apart by calls and results,
// which search takes for neighbours.
func (d *Delegation) around(ctx context.Context, all []candidate) ([]candidate, error) {
	var said, others []candidate
	seen := map[store.MessageID]bool{}
	for _, c := range all {
		seen[c.msg.ID] = true
		if spoken(c.msg) {
			said = append(said, c)
		} else {
			others = append(others, c)
		}
	}
	for _, c := range all[:min(aroundBest, len(all))] {
		for m, err := range d.config.Store.Messages(ctx, store.MessageQuery{
			Conversation: c.msg.Conversation, After: c.msg.Seq - aroundReach - 1, Before: c.msg.Seq + aroundReach + 1,
		}) {
			if err != nil {
				return nil, err
			}
			if spoken(m) && !seen[m.ID] {
				seen[m.ID] = true
				said = append(said, candidate{msg: m})
			}
		}
	}
	return sorted(append(others, shared(said)...)), nil
}

// spoken says that a message was said by somebody, and is not tool traffic.
func spoken(m store.Message) bool {
	return weight(m.Body) == 1 && m.Flags&(store.FlagEcho|store.FlagHidden) == 0
}

// shared gives each message a share of what its neighbours are worth.
func shared(said []candidate) []candidate {
	slices.SortFunc(said, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(x.msg.Conversation, y.msg.Conversation), cmp.Compare(x.msg.Seq, y.msg.Seq))
	})
	near := func(a, b store.Message) bool { return a.Conversation == b.Conversation && b.Seq-a.Seq <= aroundReach }
	out := slices.Clone(said)
	for i := range said[:max(0, len(said)-1)] {
		if near(said[i].msg, said[i+1].msg) {
			out[i].score += aroundShare * said[i+1].score
			out[i+1].score += aroundShare * said[i].score
		}
	}
	return out
}

// sorted puts the best first, and of equals the older.
func sorted(all []candidate) []candidate {
	slices.SortFunc(all, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.msg.ID, y.msg.ID))
	})
	return all
}

// conversations are those that a plan looks at; none stands for all.
func (p *plan) conversations() []store.ConversationID {
	if p.scope.Kind == recall.ScopeAll {
		return nil
	}
	return p.scope.ConversationIDs
}

// inside keeps what lies beneath the summaries that the question names. Where
// search finds nothing there, it is what the summaries begin with.
func (d *Delegation) inside(ctx context.Context, found []store.MessageID, p *plan) ([]store.MessageID, error) {
	if p.within == nil {
		return found, nil
	}
	var kept []store.MessageID
	for _, id := range found {
		ok, err := d.beneath(ctx, store.Node{Message: id}, p.within)
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
	ids := make([]string, len(p.within))
	for i, id := range p.within {
		ids[i] = string(id)
	}
	first, err := d.config.Recall.Expand(ctx, recall.ExpandRequest{
		SummaryIDs: ids, Where: recall.Where{AllConversations: true}, TokenCap: DefaultMaxTokens,
	})
	for _, piece := range first.Pieces {
		if id, perr := store.ParseID(piece.ID); perr == nil && id.Message != 0 {
			kept = append(kept, id.Message)
		}
	}
	return kept, err
}

// weight prefers what was said to what a tool printed: of a question's words,
// output has many by chance.
func weight(m llms.Message) float64 {
	switch {
	case m.Role == llms.RoleTool || len(m.ToolResults()) > 0:
		return 0.5
	case len(m.ToolCalls()) > 0:
		return 0.7
	}
	return 1
}
