package lcm

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/record"
)

// Conversations lists the conversations of the store that q selects, newest activity
// first: the sessions of all agents, each with one conversation or, where it was archived
// in between, several.
func (e *Engine) Conversations(ctx context.Context, q record.ConversationQuery) iter.Seq2[record.Conversation, error] {
	return func(yield func(record.Conversation, error) bool) {
		all, err := e.store.Conversations(ctx, q)
		if err != nil {
			yield(record.Conversation{}, err)
			return
		}
		for _, c := range all {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// Messages yields the messages of the session, oldest first, those of earlier segments
// included. A session that [Engine.Resume] returned for an archived conversation ends with
// that conversation.
func (s *Session) Messages(ctx context.Context) iter.Seq2[record.Message, error] {
	return func(yield func(record.Message, error) bool) {
		segments, err := s.engine.store.Conversations(ctx, record.ConversationQuery{Key: s.open.Key})
		if err != nil {
			yield(record.Message{}, err)
			return
		}
		slices.SortFunc(segments, func(a, b record.Conversation) int { return cmp.Compare(a.Segment, b.Segment) })
		last := s.archivedSegment()
		for _, c := range segments {
			for m, err := range s.engine.store.Messages(ctx, store.MessageQuery{Conversation: c.ID}) {
				if !yield(m, err) || err != nil {
					return
				}
			}
			if c.ID == last {
				return
			}
		}
	}
}

// Grep finds messages and summaries. The request must say where to look: set
// ConversationID or AllConversations. [Session.Grep] looks in the session.
func (e *Engine) Grep(ctx context.Context, r recall.GrepRequest) (recall.GrepAnswer, error) {
	return e.lookup.Grep(ctx, r)
}

// Grep finds messages and summaries of the session as lcm_grep does: a pattern without
// operators that no text has exactly is read as words, unless Mode says that it is a regex. It also finds the prompt of the
// current turn, unless InTurn is set.
func (s *Session) Grep(ctx context.Context, r recall.GrepRequest) (recall.GrepAnswer, error) {
	r.OrWords = r.Mode != recall.Regex
	if err := s.locate(ctx, &r.Where); err != nil {
		return recall.GrepAnswer{}, err
	}
	return s.engine.Grep(ctx, r)
}

// Describe shows one message, summary or file. The request must say where to look: set
// ConversationID or AllConversations. [Session.Describe] looks in the session.
func (e *Engine) Describe(ctx context.Context, r recall.DescribeRequest) (recall.DescribeAnswer, error) {
	return e.lookup.Describe(ctx, r)
}

// Describe shows one message, summary or file of the session, as lcm_describe does.
func (s *Session) Describe(ctx context.Context, r recall.DescribeRequest) (recall.DescribeAnswer, error) {
	if err := s.locate(ctx, &r.Where); err != nil {
		return recall.DescribeAnswer{}, err
	}
	return s.engine.Describe(ctx, r)
}

// Expand opens summaries down to their messages, in pages: all pages together have every
// byte once. The request must say where to look: set ConversationID or AllConversations.
// [Session.Expand] looks in the session.
func (e *Engine) Expand(ctx context.Context, r recall.ExpandRequest) (recall.ExpandAnswer, error) {
	return e.lookup.Expand(ctx, r)
}

// Expand opens summaries of the session down to their messages.
func (s *Session) Expand(ctx context.Context, r recall.ExpandRequest) (recall.ExpandAnswer, error) {
	if err := s.locate(ctx, &r.Where); err != nil {
		return recall.ExpandAnswer{}, err
	}
	return s.engine.Expand(ctx, r)
}

// Ask answers a question about the record. The question must say where to look:
// set ConversationID or AllConversations. [Session.Ask] looks in the session.
func (e *Engine) Ask(ctx context.Context, r recall.Question) (recall.Answer, error) {
	if r.Model == nil {
		r.Model = llms.ModelFrom(ctx)
	}
	return e.questions.Ask(ctx, r)
}

// Ask answers a question about the session, or with AllConversations about the
// whole record: lcm_expand_query for programs. Only Prompt is required; without
// Query and SummaryIDs its words find the summaries and messages to read.
// Questions of one session take turns.
func (s *Session) Ask(ctx context.Context, r recall.Question) (recall.Answer, error) {
	if err := s.locate(ctx, &r.Where); err != nil {
		return recall.Answer{}, err
	}
	if r.Caller == "" {
		r.Caller = s.open.Key
	}
	if r.Agent == "" {
		r.Agent = s.open.Agent
	}
	return s.engine.Ask(ctx, r)
}

// locate sets the current conversation of a question: the active one of the session,
// else its newest archived one. No turn is under way in an archived one.
func (s *Session) locate(ctx context.Context, w *recall.Where) (err error) {
	if w.Current, err = s.known(ctx); err != nil || w.Current != 0 {
		return err
	}
	older, err := s.engine.store.Conversations(ctx, store.ConversationQuery{Key: s.open.Key, Limit: 1})
	if w.Unstored = len(older) == 0; !w.Unstored {
		w.Current, w.InTurn = older[0].ID, false
	}
	return err
}
