package lookup

import (
	"context"
	"fmt"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// defaultTokenCap is how many tokens of text a page of Expand holds unless it
// is asked for more or less.
const defaultTokenCap = 4000

// maxPieces bounds a page of many short messages.
const maxPieces = 1000

// crumb is the size in tokens below which the rest of a page is left empty
// rather than filled with the first words of a message.
const crumb = 32

// spot is a place in a walk: so many nodes are done, and so many bytes of the
// next one. Its size tells whether that is still the same text.
type spot struct {
	Done   int
	Node   string `asn1:"optional,utf8,tag:0"`
	Offset int    `asn1:"optional,tag:1"`
	Size   int    `asn1:"optional,tag:2"`
}

// Expand climbs down from summaries to their sources, each followed by what lies
// beneath it, and returns its text verbatim. The cursor continues exactly where a
// page ended, inside a message too but never inside a character: all pages
// together hold every byte beneath the summaries once.
//
// The text of a message is its own, with content that was externalised
// in its place.
func (s *Service) Expand(ctx context.Context, r recall.ExpandRequest) (_ recall.ExpandAnswer, err error) {
	ctx, span := tracing.Start(ctx, "recall.expand")
	defer func() { span.End(err) }()
	limit := r.TokenCap
	if limit == 0 {
		limit = defaultTokenCap
	}
	if limit < 1 {
		return recall.ExpandAnswer{}, refuse("", "tokenCap is %d: it must be at least 1", r.TokenCap)
	}
	if r.Depth < 0 {
		return recall.ExpandAnswer{}, refuse("0 goes all the way down", "depth is %d", r.Depth)
	}
	var a recall.ExpandAnswer
	roots, first, err := s.roots(ctx, r, &a)
	if err != nil {
		return a, err
	}
	messages := r.IncludeMessages == nil || *r.IncludeMessages
	digest := question(s.store, "expand", r.IDs, roots, r.Depth, messages, r.ConversationID, r.AllConversations, r.Current)
	from, err := unseal[spot](r.Cursor, digest)
	if err != nil {
		return a, err
	}
	p := &page{Service: s, answer: &a, left: limit, at: from}
	more, err := p.fill(ctx, s.descend(ctx, first, roots, r.Depth, messages))
	if err != nil {
		return a, err
	}
	if more {
		a.Truncated, a.NextCursor = true, seal(digest, p.at)
		a.Notes = append(a.Notes, p.rest())
	}
	if !messages && a.MessageCount > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%s of %d tokens lie beneath: includeMessages: true returns them",
			prose.Plural(a.MessageCount, "message", "messages"), a.MessageTokens))
	}
	return a, nil
}

// roots looks the summaries up, and the messages and files that come first.
func (s *Service) roots(ctx context.Context, r recall.ExpandRequest, a *recall.ExpandAnswer) (roots []store.SummaryID, first []step, err error) {
	if len(r.SummaryIDs)+len(r.IDs) == 0 {
		return nil, nil, refuse("lcm_grep and lcm_describe name summaries", "summaryIds is empty")
	}
	if a.Scope, err = s.scopes.reach(ctx, r.Where); err != nil {
		return nil, nil, err
	}
	for _, id := range r.IDs {
		st := step{ID: id}
		if id.Payload != "" {
			st.holder, err = s.holder(ctx, a.Scope, id.Payload)
		} else if st.holder, err = s.message(ctx, id.Message); err == nil {
			err = within(a.Scope, id.String(), st.holder.Conversation)
		}
		if err != nil {
			return nil, nil, err
		}
		first = append(first, st)
	}
	for _, text := range r.SummaryIDs {
		id, err := store.ParseID(string(text))
		if err != nil || id.Summary == "" {
			return nil, nil, refuse("summaries are sum_…; lcm_describe shows messages and files", "%q is not the id of a summary", prose.Clip(string(text), 60))
		}
		sum, err := s.summary(ctx, id.Summary)
		if err != nil {
			return nil, nil, err
		}
		if err := within(a.Scope, string(sum.ID), sum.Conversation); err != nil {
			return nil, nil, err
		}
		roots = append(roots, sum.ID)
		a.SummaryIDs = append(a.SummaryIDs, sum.ID)
		a.MessageCount += sum.Messages
		a.MessageTokens += sum.MessageTokens
	}
	a.Pieces = []recall.Piece{}
	return roots, first, nil
}

// holder returns the newest message of the scope that a file belongs to. A scope of all
// conversations may have none.
func (s *Service) holder(ctx context.Context, in recall.Scope, id store.PayloadID) (store.Message, error) {
	holders, err := s.store.Holders(ctx, id, in.ConversationIDs, 1)
	if err != nil {
		return store.Message{}, err
	}
	if len(holders) > 0 {
		return s.message(ctx, holders[0])
	}
	if in.Kind == recall.ScopeAll {
		return store.Message{}, nil
	}
	if holders, err = s.store.Holders(ctx, id, nil, 1); err != nil {
		return store.Message{}, err
	}
	if len(holders) == 0 {
		return store.Message{}, refuse("ask again with allConversations: true", "%s belongs to no message and so to no conversation: it is %w", id, recall.ErrOutOfScope)
	}
	m, err := s.message(ctx, holders[0])
	if err != nil {
		return m, err
	}
	return m, within(in, string(id), m.Conversation)
}
