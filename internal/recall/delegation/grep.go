package delegation

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

//go:embed prompts/lcm_grep.md
var grepText string

// grepPages bounds how many pages of matches are looked through, in each
// conversation, for those that the grant covers.
const grepPages = 10

type grepArgs struct {
	Pattern string     `json:"pattern" description:"Words or a question, or a regular expression with mode regex"`
	Mode    store.Mode `json:"mode" enum:"regex,full_text" default:"full_text" description:"How the pattern is read"`
	Scope   string     `json:"scope" enum:"messages,summaries,both" default:"both" description:"What is searched"`
	Limit   int        `json:"limit" default:"10" minimum:"1" maximum:"50" description:"Most results"`
}

// grep searches within the grant. It tells nothing of other matches, not
// even how many there are.
func (g *Grant) grep(ctx context.Context, in grepArgs) (string, error) {
	found, err := g.search(ctx, recall.GrepRequest{Pattern: in.Pattern, Mode: in.Mode, Kinds: in.Scope})
	if err != nil {
		return "", err
	}
	p := g.newPage(g.pageSize())
	for _, m := range found[:min(len(found), in.Limit)] {
		if !p.match(m) {
			break
		}
	}
	head := fmt.Sprintf("Passages that match, in what you may expand. %s reads a message or summary whole.\n\n", toolname.Expand)
	if len(p.pieces) == 0 {
		head = fmt.Sprintf("Nothing that you may expand matches %q: use other words, or read it with %s.\n\n", prose.Clip(in.Pattern, 80), toolname.Expand)
	}
	p.left -= g.count(head)
	if err := g.settle(ctx, p); err != nil {
		return "", err
	}
	return head + p.text(), nil
}

// search returns the matches that the grant covers, words with the best first.
func (g *Grant) search(ctx context.Context, r recall.GrepRequest) (found []recall.Match, err error) {
	spans, err := g.spans(ctx)
	if err != nil {
		return nil, err
	}
	for _, at := range spans {
		r.ConversationID, r.Limit, r.NoSaid, r.Cursor = at.conversation, recall.MaxLimit, true, ""
		at.within(&r)
		for range grepPages {
			a, err := g.recall.Grep(ctx, r)
			if err != nil {
				return nil, err
			}
			for _, m := range a.Matches {
				if m.Beside { // it stands next to a match and has none of the words
					continue
				}
				if ok, err := g.covers(ctx, m.ID); err != nil {
					return nil, err
				} else if ok {
					found = append(found, m)
				}
			}
			if r.Cursor = a.NextCursor; r.Cursor == "" {
				break
			}
		}
	}
	if r.Mode == store.FullText { // the conversations were ranked apart
		slices.SortStableFunc(found, func(a, b recall.Match) int { return cmp.Compare(b.Score, a.Score) })
	}
	return found, nil
}

// match puts a match on the page, and reports whether there was room for it.
func (p *page) match(m recall.Match) bool {
	piece := recall.Piece{
		ID: m.ID, Type: m.Type, Role: m.Role, ConversationID: m.ConversationID, CreatedAt: m.CreatedAt, Depth: m.Depth,
		Text: m.Snippet, Complete: true, Tokens: p.grant.count(m.Snippet),
	}
	if p.cost([]recall.Piece{piece}) > p.left {
		return false
	}
	p.put(piece)
	p.taken = append(p.taken, taken{Piece: piece, node: m.ID, passage: true})
	return true
}

// span is a stretch of time in a conversation; without times it is all of it.
type span struct {
	conversation store.ConversationID
	from, to     time.Time
	whole        bool // something in it has no time
}

// cover widens a span, with a margin.
func (s *span) cover(from, to time.Time) {
	if s.whole = s.whole || from.IsZero() || to.IsZero(); s.whole {
		s.from, s.to = time.Time{}, time.Time{}
		return
	}
	from, to = from.Add(-time.Second), to.Add(time.Second)
	if s.to.IsZero() || from.Before(s.from) {
		s.from = from
	}
	if s.to.IsZero() || to.After(s.to) {
		s.to = to
	}
}

// within bounds a search to the span.
func (s span) within(r *recall.GrepRequest) {
	if r.Since, r.Before = "", ""; !s.to.IsZero() {
		r.Since, r.Before = s.from.Format(time.RFC3339Nano), s.to.Format(time.RFC3339Nano)
	}
}

// spans returns where granted things lie, by conversation. In a long conversation the
// best matches lie elsewhere, and looking through all of them would end too early.
func (g *Grant) spans(ctx context.Context) (all []span, err error) {
	add := func(c store.ConversationID, from, to time.Time) {
		i := slices.IndexFunc(all, func(s span) bool { return s.conversation == c })
		if i < 0 {
			i, all = len(all), append(all, span{conversation: c})
		}
		all[i].cover(from, to)
	}
	if len(g.allows.Summaries) > 0 {
		for s, err := range g.store.Summaries(ctx, store.SummaryQuery{IDs: g.allows.Summaries}) {
			if err != nil {
				return nil, err
			}
			add(s.Conversation, s.Earliest, s.Latest)
		}
	}
	if len(g.allows.Messages) > 0 {
		for m, err := range g.store.Messages(ctx, store.MessageQuery{IDs: g.allows.Messages}) {
			if err != nil {
				return nil, err
			}
			add(m.Conversation, m.Body.Time, m.Body.Time)
		}
	}
	return all, nil
}
