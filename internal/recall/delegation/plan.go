package delegation

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/recall"
)

// The ids that a sub-agent begins with. A few summaries are enough, as they lead to
// everything beneath them. The best messages come along because a summary of 20,000
// tokens is three pages, and the answer may be on the last.
const (
	maxSeeds    = 8
	maxMessages = 16
	// With one conversation, plan reads as many matches as it hands on, two messages to
	// a summary; with all of them more, so that the best do not all come from one.
	matchesOfOne = 24
	matchesOfAll = 80
	// enoughMatches of the query make a search for the prompt's words needless.
	enoughMatches = 4
	largeMessage  = 2000 // tokens; larger ones come after the others
)

// plan has the matches of a question.
type plan struct {
	scope   recall.Scope
	buckets []*bucket // one for each sub-agent, the best first
	// within, when not nil, bounds evidence to messages beneath summaries that the
	// question names.
	within []store.SummaryID
	time   span // of these messages
	// opened are the summaries that evidence looked beneath.
	opened []store.SummaryID

	apart     bool // a bucket for each conversation
	found     bool
	matches   int
	elsewhere *recall.Elsewhere
	widened   string // says that other projects were searched too
	notes     []string
	absent    []string // words of the question that no text has
}

// bucket is what one sub-agent may open, the best conversation first. First has the leaf
// summaries that match or cover a match, the best first, and deeper those made of other summaries.
type bucket struct {
	Allowance
	deeper []store.SummaryID
}

func (b *bucket) addSummary(id store.SummaryID, c store.ConversationID) {
	b.Conversations, b.Summaries = include(b.Conversations, c), include(b.Summaries, id)
}

// bucket returns the bucket of a conversation: the only one, or with all conversations
// one for each.
func (p *plan) bucket(id store.ConversationID) *bucket {
	for _, b := range p.buckets {
		if !p.apart || b.Conversations[0] == id {
			return b
		}
	}
	b := &bucket{Allowance: Allowance{Conversations: []store.ConversationID{id}}}
	p.buckets = append(p.buckets, b)
	return b
}

// plan resolves the scope of a question and finds its matches.
func (d *Delegator) plan(ctx context.Context, r request) (*plan, error) {
	p := &plan{apart: r.ConversationID == 0 && r.AllConversations}
	if len(r.SummaryIDs) > 0 {
		if err := d.named(ctx, r, p); err != nil {
			return nil, err
		}
	}
	texts := []string{r.Query, r.Prompt}
	limit := matchesOfOne
	if p.apart {
		limit = matchesOfAll
	}
	var failure error
	for i, text := range texts {
		if text == "" || i > 0 && (text == texts[0] || p.matches >= enoughMatches) {
			continue // the query says where to look, and the prompt is the question
		}
		if text == r.Prompt {
			text = asWords(text) // a query may have operators, a question has none
		}
		g := recall.GrepRequest{Pattern: text, Mode: store.FullText, Kinds: recall.InBoth, Where: r.Where, Limit: limit, NoSaid: true}
		p.time.within(&g) // in a long conversation the best matches are elsewhere
		found, err := d.config.Recall.Grep(ctx, g)
		switch {
		case err == nil:
		case i > 0 && p.found, errors.Is(err, search.ErrNoWords):
			failure = err // words that say nothing are no reason to give up the others
			continue
		default:
			return nil, err
		}
		if p.scope.Kind != recall.ScopeAll || p.matches == 0 { // the next search does not narrow a scope that one widened
			p.scope = found.Scope
			if w := found.Widened; w != nil && w.InScope > 0 {
				p.scope = w.Home // passages of other projects never displace its own
			}
		}
		if w := found.Widened; w != nil && p.widened == "" && p.within == nil {
			p.widened = fmt.Sprintf("widened to all projects: %s in %s, %s elsewhere", prose.Plural(w.InScope, "match", "matches"), w.From, prose.Plural(w.Elsewhere, "match", "matches"))
			p.notes = append(p.notes, p.widened)
		}
		if len(r.SummaryIDs) == 0 { // else they say where to look
			for _, w := range found.NotInRecord {
				p.absent = include(p.absent, w)
			}
		}
		p.matches += len(found.Matches)
		if i == 0 {
			p.elsewhere = found.Elsewhere
		}
		if i > 0 && r.Query != "" && !p.found && len(found.Matches) > 0 {
			p.notes = append(p.notes, "nothing matches the query; the words of the prompt were searched for instead")
		}
		if err := d.take(ctx, p, found.Matches); err != nil {
			return nil, err
		}
		if p.apart && found.NextCursor != "" {
			p.notes = append(p.notes, fmt.Sprintf("the best %d of %d matches were looked at: conversations that only the others are in were not counted", len(found.Matches), found.Total))
		}
	}
	if p.scope.Kind == "" { // nothing could be searched for
		return nil, failure
	}
	return p, d.orderMessages(ctx, p)
}

// named takes the summaries that the question names. Recall refuses those that
// do not exist or lie elsewhere, in its own words.
func (d *Delegator) named(ctx context.Context, r request, p *plan) error {
	first, err := d.config.Recall.Expand(ctx, recall.ExpandRequest{SummaryIDs: r.SummaryIDs, Where: r.Where, Depth: 1, TokenCap: 1})
	if err != nil {
		return err
	}
	p.scope = first.Scope
	p.within, p.opened = first.SummaryIDs, first.SummaryIDs
	for sum, err := range d.config.Store.Summaries(ctx, store.SummaryQuery{IDs: p.within}) {
		if err != nil {
			return err
		}
		p.bucket(sum.Conversation).addSummary(sum.ID, sum.Conversation)
		p.time.cover(sum.Earliest, sum.Latest)
	}
	p.found = true
	if r.Query != "" { // the question is not about them alone
		p.within, p.time = nil, span{}
	}
	return nil
}

// take sorts matches into buckets.
func (d *Delegator) take(ctx context.Context, p *plan, matches []recall.Match) error {
	for _, m := range matches {
		id := m.ID
		if p.within != nil {
			if ok, err := beneath(ctx, d.config.Store, id, p.within); err != nil {
				return err
			} else if !ok {
				continue
			}
		}
		p.found = true
		b := p.bucket(m.ConversationID)
		b.Conversations = include(b.Conversations, m.ConversationID)
		if id.Message != 0 && len(b.Messages) < maxMessages {
			b.Messages = include(b.Messages, id.Message)
		}
		summary := cmp.Or(m.SummaryID, m.CoveredBy)
		if summary == "" {
			continue
		}
		if m.Depth != nil && *m.Depth > 0 {
			b.deeper = include(b.deeper, summary)
		} else {
			b.First = include(b.First, summary)
		}
		if p.within == nil && len(b.Summaries) < maxSeeds { // else the named ones are enough
			b.addSummary(summary, m.ConversationID)
		}
	}
	return nil
}

// beneath reports whether a node is one of the summaries or lies beneath one.
func beneath(ctx context.Context, s lookup.Store, n store.ID, roots []store.SummaryID) (bool, error) {
	g := Grant{allows: Allowance{Summaries: roots}, store: s, known: map[store.ID]bool{}}
	return g.covers(ctx, n)
}

// orderMessages puts large messages after the others: one of them would fill a
// page by itself.
func (d *Delegator) orderMessages(ctx context.Context, p *plan) error {
	for _, b := range p.buckets {
		if len(b.Messages) == 0 {
			continue
		}
		var small, large []store.MessageID
		for m, err := range d.config.Store.Messages(ctx, store.MessageQuery{IDs: b.Messages}) {
			if err != nil {
				return err
			}
			if m.Tokens > largeMessage || lookup.MovedOut(m.Body.Parts) {
				large = append(large, m.ID)
			} else {
				small = append(small, m.ID)
			}
		}
		b.Messages = append(small, large...)
	}
	return nil
}
