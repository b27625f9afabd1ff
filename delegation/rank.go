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
	score float64
}

// lookup is a text to search for, and what its matches are worth.
type lookup struct {
	text  string
	worth float64
}

// tellingWorth is what the telling words of a question are worth beside the
// whole of it.
const tellingWorth = 2

// lookups are what a question is searched for with: its words, those of them
// that tell most, and the query where it differs.
func lookups(r Request) []lookup {
	question := asWords(r.Prompt)
	all := []lookup{{question, 1}}
	if words := telling(question); words != "" {
		all = append(all, lookup{words, tellingWorth})
	}
	if r.Query != "" && r.Query != r.Prompt {
		all = append(all, lookup{r.Query, 1})
	}
	return all
}

// rank searches for the question in every way and adds up what a message is
// worth for each.
func (d *Delegation) rank(ctx context.Context, r Request, p *plan) ([]candidate, error) {
	scores := map[store.MessageID]float64{}
	for _, l := range lookups(r) {
		found, err := d.config.Store.Search(ctx, store.Search{
			Mode: store.FullText, Pattern: l.text, Conversations: p.conversations(), Since: p.since, Before: p.before,
			Sort: store.ByRelevance, Limit: evidenceHits,
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
			scores[h.Message] += l.worth * h.Score / max(best, 1e-9)
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
	if p.within != nil || len(scores) == 0 { // what was said around it may lie outside
		return all, nil
	}
	return d.around(ctx, all)
}

// How far around a candidate what was said is looked for, around how many, and
// how much of a candidate's worth goes to what was said next to it, to the one
// after that, and from what a tool printed to what was said about it.
const (
	aroundReach  = 10
	aroundBest   = 24
	nextShare    = 0.25
	secondShare  = 0.1
	printedShare = 0.2
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
	return sorted(append(others, shared(said, others)...)), nil
}

// spoken says that a message was said by somebody, and is not tool traffic.
func spoken(m store.Message) bool {
	return weight(m.Body) == 1 && m.Flags&(store.FlagEcho|store.FlagHidden) == 0
}

// shared gives what was said a share of what stands near it: people and agents
// stay on a subject for a while, and answer without repeating the question; and
// what a tool printed is spoken of right after it.
func shared(said, printed []candidate) []candidate {
	bySeq := func(x, y candidate) int {
		return cmp.Or(cmp.Compare(x.msg.Conversation, y.msg.Conversation), cmp.Compare(x.msg.Seq, y.msg.Seq))
	}
	slices.SortFunc(said, bySeq)
	out := slices.Clone(said)
	give := func(from, to int, share float64, reach int64) {
		if from < 0 || to >= len(said) || said[from].msg.Conversation != said[to].msg.Conversation || said[to].msg.Seq-said[from].msg.Seq > reach {
			return
		}
		out[from].score += share * said[to].score
		out[to].score += share * said[from].score
	}
	for i := range said {
		give(i, i+1, nextShare, aroundReach)
		give(i, i+2, secondShare, 2*aroundReach)
	}
	for _, c := range printed {
		next, _ := slices.BinarySearchFunc(said, c, bySeq)
		if next < len(said) && said[next].msg.Conversation == c.msg.Conversation && said[next].msg.Seq-c.msg.Seq <= aroundReach {
			out[next].score += printedShare * c.score
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
// search finds nothing there, or nothing but summaries, it is what the
// summaries begin with.
func (d *Delegation) inside(ctx context.Context, found []store.MessageID, p *plan) ([]store.MessageID, error) {
	if p.within == nil && len(found) > 0 {
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
	var ids []string
	for _, b := range p.buckets {
		for _, id := range b.summaries {
			ids = append(ids, string(id))
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	ids = ids[:min(len(ids), maxSeeds)]
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
