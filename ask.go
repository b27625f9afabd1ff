package lcm

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// expansion is how questions about the record are answered.
type expansion struct {
	engine    llms.Model
	limits    QuestionLimits
	newRunner func(llms.Model) delegation.Runner
}

// WithExpansionModel has a model answer questions about the record. Without it, the
// model of the agent that asks answers: the one of [Question].Model or [CallerModel],
// else the model that the agent of package agents runs on. Without any model, the
// answer is verbatim passages.
func WithExpansionModel(e llms.Model) Option {
	return func(s *settings) error {
		if e == nil {
			return errors.New("the expansion model is nil")
		}
		s.expansion.engine = e
		return nil
	}
}

// embedding is how matches are ordered by meaning.
type embedding struct {
	engine  llms.Embedder
	timeout time.Duration
}

// WithEmbedder orders the first matches of full-text questions by meaning with an
// embedding model. After [Engine.Embed] it also finds messages that say it in other
// words. A search waits for the model for timeout at most (1.5 seconds
// if 0), and then returns the matches in the order of their words, with a note.
// Texts are sent without secrets and private blocks.
func WithEmbedder(e llms.Embedder, timeout time.Duration) Option {
	return func(s *settings) error {
		if e == nil {
			return errors.New("the embedder is nil")
		}
		s.embedding = embedding{e, timeout}
		return nil
	}
}

// WithExpansionLimits bounds the cost of one question about the record. Zero
// fields keep their defaults.
func WithExpansionLimits(l QuestionLimits) Option {
	return func(s *settings) error { s.expansion.limits = l; return nil }
}

// asking is made when the record is first asked.
type asking struct {
	once      sync.Once
	recall    *recall.Service
	reranker  *recall.Reranker
	questions *delegation.Delegator
	err       error
}

func (e *Engine) ready() (*asking, error) {
	a := &e.asking
	a.once.Do(func() {
		if m := e.settings.embedding; m.engine != nil {
			a.reranker = recall.NewReranker(m.engine, e.store, m.timeout)
		}
		if a.recall, a.err = recall.New(e.store, recall.WithCounter(e.settings.counter), recall.WithClock(e.settings.clock), recall.WithReranker(a.reranker)); a.err != nil {
			return
		}
		c := delegation.Config{
			Recall: a.recall, Store: e.store, Counter: e.settings.counter, Clock: e.settings.clock, Limits: e.settings.expansion.limits,
			Reranker: a.reranker, NewRunner: e.settings.expansion.newRunner,
		}
		if model := e.settings.expansion.engine; model != nil {
			c.Runner = c.NewRunner(model)
		}
		a.questions, a.err = delegation.New(c)
	})
	return a, a.err
}

// Embed has the model of [WithEmbedder] embed all messages that have no vector yet,
// the newest first, so that questions find them by meaning where their words find
// nothing strong. Texts are sent without secrets and private blocks. It may end at
// any time, also with an error: the vectors so far are stored, and the next call
// goes on from there. The vectors of all projects are stored together: an engine
// with [Within] refuses, and uses the vectors that one without it has stored.
func (e *Engine) Embed(ctx context.Context, limits EmbedLimits) (EmbedReport, error) {
	a, err := e.ready()
	if err != nil {
		return EmbedReport{}, err
	}
	if a.reranker == nil {
		return EmbedReport{}, errors.New("the engine has no embedding model: see WithEmbedder")
	}
	return a.reranker.EmbedAll(ctx, e.store, limits)
}

// Recall returns the search over the engine's record. It has no current
// conversation: a request must set Where.ConversationID, or Where.AllConversations
// to search the whole record.
func (e *Engine) Recall() (*Recall, error) {
	a, err := e.ready()
	if err != nil {
		return nil, err
	}
	return a.recall, nil
}

// Ask answers a question about the record. The question must say where to look:
// set ConversationID or AllConversations. [Session.Ask] looks in the session.
func (e *Engine) Ask(ctx context.Context, r Question) (Answer, error) {
	a, err := e.ready()
	if err != nil {
		return Answer{}, err
	}
	if r.Model == nil {
		r.Model = llms.ModelFrom(ctx)
	}
	return a.questions.Ask(ctx, r)
}

// Ask answers a question about the session, or with AllConversations about the
// whole record: lcm_expand_query for programs. Only Prompt is required; without
// Query and SummaryIDs its words find the summaries and messages to read.
// Questions of one session take turns.
func (s *Session) Ask(ctx context.Context, r Question) (Answer, error) {
	if err := s.locate(ctx, &r.Where); err != nil {
		return Answer{}, err
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
