// Package lcm is lossless context memory for AI agents. It keeps every message of
// a conversation verbatim, folds older messages into summaries that link back to
// their sources, and gives the model a view that fits its context window.
//
// # A complete example
//
// A program opens a store, makes an [Engine] on it and asks the engine for a
// [Session]. In each turn it appends the new messages and sends the model the
// session's context:
//
//	db, err := sqlite.Open(ctx, "agent.db", sqlite.Options{}) // package store/sqlite
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	engine, err := lcm.New(db)
//	if err != nil {
//		return err
//	}
//	defer engine.Close(ctx)
//	session := engine.Session("support-bot/42")
//
//	for { // each turn
//		if err := session.Append(ctx, llms.User(prompt)); err != nil {
//			return err
//		}
//		view, err := session.Context(ctx, 128_000) // at most 128,000 tokens
//		if err != nil {
//			return err
//		}
//		reply := ask(view.Messages, session.Tools()) // your own model call
//		if err := session.Append(ctx, reply); err != nil {
//			return err
//		}
//	}
//
// [Session.Tools] returns the tools with which the model finds older messages:
// lcm_grep, lcm_describe and lcm_expand_query, and expand, which tells more of a tool.
// [Session.Guidance] is the paragraph about them for the system prompt. For tests, open the
// store with sqlite.Memory as its path; package llms/llmtest has scripted models.
//
// An agent of package agents needs none of the loop. [Session.Memory] gives it
// the context, the tools and the guidance:
//
//	agent, err := agents.New(agents.AgentConfig{
//		LLMEngine: model, AgentName: "support",
//		Memory:    session.Memory(128_000),
//	})
//
// Its config also takes tools of your own: core.NewTool makes one of a function.
//
// The tools look in the session's own conversation, and in all of the store where a call
// has allConversations: true; [WithProjects] bounds that. To let an agent find messages of
// other sessions of a project by default, give the project as the scope:
//
//	session := engine.Session("support/43", lcm.WithProject(record.Project{Root: "/srv/support"}))
//	memory := session.Memory(128_000, lcm.WithProjectScope())
//
// Where the project has little, they then look in all of the store. If sessions belong to
// customers who must not see each other's messages, give the engine [WithProjects] instead
// of WithProject; examples/support does so.
//
// The arguments of the tools are in docs/TOOLS.md; lcm_grep needs only
// {"pattern": "…"}.
//
// # Folding
//
// Below the soft threshold (75 % of the budget) the context is the history
// itself. Above it, the engine folds older messages in the background, down to
// the low threshold (30 %), and shows the result at once. Then the beginning of
// the context stays the same, byte for byte, until the soft threshold is reached
// again, so that a provider's prompt cache keeps working.
// Above the hard threshold (95 %), Context waits for folding, for at most a
// second; then it returns the newest messages that fit. Without a model,
// summaries are extractive: sentences of the messages, without a network, and the
// same for the same messages. [WithSummariser] with [NewModelSummariser] has a
// model write them.
//
// Folding removes nothing from the record. Every summary names its sources, and
// [Session.Verify] proves that every message is still there, byte for byte.
// [Engine.Erase] is the only way to remove messages.
//
// # Many items
//
// [Session.Map] asks a model the same about many items, or has a sub-agent work on each, and
// stores the replies as a file of the session. It survives crashes, and several processes may
// work on one job. [MapInto] yields the replies as Go values:
//
//	type verdict struct {
//		Label string `json:"label" enum:"bug,question"`
//	}
//	job := lcm.MapJob{Key: "triage", InputPath: "tickets.jsonl", Prompt: "What kind of ticket is this?", Model: model}
//	for v, err := range lcm.MapInto[verdict](ctx, session, job) {
//		// err is a *lcm.MapFailure for an item that failed
//	}
//
// [WithMaps] gives an agent the tools llm_map and agentic_map for the same.
//
// # Traces
//
// A program that sets a provider of OpenTelemetry (otel.SetTracerProvider), or calls with
// a context that has a span, gets spans of recall and of the store. They have counts and
// sizes, never text.
//
// # Reading the record
//
// [Engine.Conversations] lists the conversations of the store, and [Session.Messages]
// reads the messages of a session. [Session.Grep] and
// [Session.Describe] do what the tools do. Summaries are items of [Session.Context] and
// matches of a search with InSummaries; [Session.Expand] returns what is beneath one.
// [Session.Ask] answers a question as lcm_expand_query does: a sub-agent reads the folded
// messages and cites them; without a model the answer is the best verbatim passages. The methods of the same names of an [Engine] look in the
// conversations that a request names. Their requests and answers are in package recall,
// the types of stored data in package record.
//
// # Options
//
// [WithProjects] restricts an engine to projects, so that one store can serve tenants
// that must not see each other's messages.
//
// Options of [New]: [WithProjects], [WithBudget], [WithThresholds], [WithLowThreshold], [WithCounter],
// [WithSummariser], [WithPolicy], [WithBounds], [WithLargeContent],
// [WithAskModel], [WithAskLimits], [WithPrivacy], [WithClock],
// [WithLogger], [WithoutBackground], and [WithSettings] for the user's own
// settings. Options of [Engine.Session]: [WithProject],
// [WithAgent], [WithTitle], [WithParent]. Options of [Session.Tools] and
// [Session.Memory]: [WithCallerModel], [WithProjectScope], [WithMaps].
package lcm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/kit/process"
	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// Store keeps the record. Open one with package store/sqlite or store/postgres, pass
// it to [New], and close it after the engine. Its methods are for the engine.
type Store = store.Store

// Engine gives sessions on a store and folds them. An engine and its sessions are
// safe for concurrent use.
type Engine struct {
	store     Store // restricted, see WithProjects
	ingest    *ingest.Ingester
	runner    *compact.Runner
	repairs   repairs
	settings  settings
	budgets   budgets
	lookup    *lookup.Service
	questions *delegation.Delegator

	mu     sync.Mutex
	keeper *compact.Maintainer // started when there is first something to fold
	folds  map[record.ConversationID]*foldRun
	closed bool
}

// New returns an engine on a store. The caller closes the engine, then the store.
func New(s Store, options ...Option) (*Engine, error) {
	if s == nil {
		return nil, errors.New("lcm: no store was given")
	}
	set := settings{counter: llms.Estimate, budget: compact.DefaultBudget, soft: 0.75, hard: 0.95, clock: time.Now, log: slog.Default()}
	set.expansion.newRunner = newSubAgents
	for _, o := range options {
		if err := o(&set); err != nil {
			return nil, fmt.Errorf("lcm: %w", err)
		}
	}
	if set.low > set.soft {
		return nil, fmt.Errorf("lcm: the low threshold %g is above the soft threshold %g", set.low, set.soft)
	}
	e := &Engine{settings: set, budgets: budgets{usual: set.budget}, folds: map[record.ConversationID]*foldRun{}}
	newRunner := func(s Store) (*compact.Runner, error) {
		return compact.NewRunner(compact.Config{
			Store: s, State: s, Summariser: set.summariser, Counter: set.counter, Clock: set.clock,
			Policy: set.policy, Bounds: set.bounds, Owner: process.Owner(), Ended: process.Ended,
		})
	}
	var err error
	e.repairs.store = s
	if e.repairs.runner, err = newRunner(s); err != nil {
		return nil, err
	}
	if len(set.within) > 0 {
		s = narrow(s, set.within)
	}
	e.store = s
	if e.ingest, err = ingest.New(s, set.counter, set.threshold, ingest.WithPrivacy(set.privacy)); err != nil {
		return nil, err
	}
	if e.runner, err = newRunner(s); err != nil {
		return nil, err
	}
	if e.lookup, err = lookup.New(s, lookup.WithCounter(set.counter), lookup.WithClock(set.clock)); err != nil {
		return nil, err
	}
	c := delegation.Config{
		Recall: e.lookup, Store: s, Counter: set.counter, Clock: set.clock, Limits: set.expansion.limits,
		NewRunner: set.expansion.newRunner,
	}
	if model := set.expansion.engine; model != nil {
		c.Runner = c.NewRunner(model)
	}
	e.questions, err = delegation.New(c)
	return e, err
}

// repairs has the store without restrictions and a runner on it. Erasing inside of a
// scope may leave a summary without text in a fork outside of it, which must be written
// anew. Nothing that repairs reads is returned to a caller.
type repairs struct {
	store  Store
	runner *compact.Runner
}

// NewModelSummariser returns a Summariser that asks a model, for
// [WithSummariser].
func NewModelSummariser(m llms.Model) (record.Summariser, error) { return summary.NewModel(m) }

// Store returns the store that the engine works on, restricted as [WithProjects] says.
func (e *Engine) Store() Store { return e.store }

// StoreVerification is the result of [Engine.Verify]: the proofs of all conversations of
// a store, and their sums.
type StoreVerification struct {
	Conversations []record.Verification // the proofs, by session key and segment
	Messages      int64                 // number of messages
	Summaries     int64                 // number of summaries
	Bytes         int64                 // of the messages as they arrived
	// Digest is the same for the same messages, in every database.
	Digest [sha256.Size]byte
	// Faults are defects of rows that belong to no conversation.
	Faults []record.Fault
}

// Sound reports whether no fault was found.
func (v StoreVerification) Sound() bool {
	return len(v.Faults) == 0 && !slices.ContainsFunc(v.Conversations, func(c record.Verification) bool { return len(c.Faults) > 0 })
}

// Verify proves every conversation of the store: each record is as it arrived,
// each message is reachable exactly once from its view or a kept branch, and
// the hash chains hold. It also looks for rows that belong to no conversation.
func (e *Engine) Verify(ctx context.Context) (StoreVerification, error) {
	all, err := e.store.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return StoreVerification{}, err
	}
	// By key and segment, which do not depend on the database.
	slices.SortFunc(all, func(a, b record.Conversation) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Segment, b.Segment))
	})
	var v StoreVerification
	h := sha256.New()
	for _, c := range all {
		one, err := e.store.Verify(ctx, c.ID)
		if err != nil {
			return v, err
		}
		v.Conversations = append(v.Conversations, one)
		v.Messages += one.Messages
		v.Summaries += one.Summaries
		v.Bytes += one.Bytes
		h.Write(one.Digest[:])
	}
	h.Sum(v.Digest[:0])
	v.Faults, err = e.store.Orphans(ctx)
	return v, err
}
