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
// lcm_grep, lcm_describe and lcm_expand_query. [Session.Guidance] is the
// paragraph about them for the system prompt. For tests, open the store with
// sqlite.Memory as its path.
//
// An agent of package agents needs none of the loop. [Session.Memory] gives it
// the context, the tools and the guidance:
//
//	agent, err := agents.New(agents.AgentConfig{
//		LLMEngine: model, AgentName: "support",
//		Memory:    session.Memory(128_000),
//	})
//
// The tools look in the session's own conversation. To let an agent find messages
// of other sessions, name the project and give it as the scope:
//
//	session := engine.Session("support/43", lcm.InProject(lcm.Project{Root: "/srv/support"}))
//	memory := session.Memory(128_000, lcm.ProjectScope())
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
// model write them. The example of WithSummariser implements a summariser in the
// embedding program.
//
// Folding removes nothing from the record. Every summary names its sources, and
// [Session.Verify] proves that every message is still there, byte for byte.
// [Engine.Erase] is the only way to remove messages.
//
// # Traces
//
// A program that sets a provider of OpenTelemetry (otel.SetTracerProvider), or calls with
// a context that has a span, gets spans of recall and of the store. They have counts and
// sizes, never text.
//
// # Questions
//
// [Session.Ask] answers a question about the record in one call. A sub-agent
// reads the folded messages and cites them; without a model the answer is the
// best verbatim passages. [Engine.Recall] searches without either; its example
// searches all conversations.
//
// # Options
//
// [Within] restricts an engine to projects, so that one store can serve tenants
// that must not see each other's messages.
//
// Options of [New]: [Within], [WithBudget], [WithThresholds], [WithLowThreshold], [WithCounter],
// [WithSummariser], [WithPolicy], [WithBounds], [WithLargeContent],
// [WithExpansionModel], [WithExpansionLimits], [WithEmbedder], [WithPrivacy], [WithClock],
// [WithLogger], [WithoutBackground], and [WithSettings] for the user's own
// settings. Options of [Engine.Session]: [InProject],
// [ByAgent], [Titled], [ChildOf]. Options of [Session.Tools] and
// [Session.Memory]: [CallerModel], [ProjectScope].
package lcm

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/kit/process"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/llms"
)

// Engine gives sessions on a store and folds them. An engine and its sessions are
// safe for concurrent use.
type Engine struct {
	store    Store // restricted, see Within
	ingest   *ingest.Ingester
	runner   *compact.Runner
	repairs  repairs
	settings settings
	budgets  budgets
	asking   asking

	mu     sync.Mutex
	keeper *compact.Maintainer // started when there is first something to fold
	folds  map[ConversationID]*foldRun
	closed bool
}

// settings are set by options.
type settings struct {
	counter    llms.Counter
	budget     int
	soft, hard float64
	low        float64 // 0 is 0.4 of soft
	policy     Policy
	bounds     Bounds
	summariser Summariser
	threshold  int
	clock      func() time.Time
	log        *slog.Logger
	foreground bool
	expansion  expansion
	embedding  embedding
	privacy    Privacy
	within     []Project // none: all
}

// Option sets something of an Engine.
type Option func(*settings) error

// WithCounter counts tokens with c instead of estimating them.
func WithCounter(c llms.Counter) Option {
	return func(s *settings) error {
		if c == nil {
			return errors.New("the token counter is nil")
		}
		s.counter = c
		return nil
	}
}

// WithBudget sets the size of the context window that is assumed until a call
// of Context names one (128,000 tokens).
func WithBudget(tokens int) Option {
	return func(s *settings) error {
		if tokens < MinBudget {
			return tooSmall(tokens)
		}
		s.budget = tokens
		return nil
	}
}

// WithThresholds sets the shares of the budget at which folding begins in the
// background (0.75) and at which Context waits for it, for at most a second
// (0.95).
func WithThresholds(soft, hard float64) Option {
	return func(s *settings) error {
		if !(soft > 0 && soft <= hard && hard <= 1) {
			return fmt.Errorf("thresholds %g and %g are out of order: want 0 < soft ≤ hard ≤ 1", soft, hard)
		}
		s.soft, s.hard = soft, hard
		return nil
	}
}

// WithLowThreshold sets the share of the budget down to which folding goes once
// it has begun. It is at most the soft threshold; 0 stands for 0.4 of that.
// With the soft threshold itself, every turn above it folds a little and
// changes the beginning of the context.
func WithLowThreshold(low float64) Option {
	return func(s *settings) error {
		if !(low >= 0 && low <= 1) {
			return fmt.Errorf("the low threshold %g is out of range: want 0 ≤ low ≤ soft", low)
		}
		s.low = low
		return nil
	}
}

// WithPolicy sets how views are folded. Zero fields keep their defaults.
func WithPolicy(p Policy) Option {
	return func(s *settings) error { s.policy = p; return nil }
}

// WithBounds sets how much one run of compaction may do. Zero fields keep
// their defaults.
func WithBounds(b Bounds) Option {
	return func(s *settings) error { s.bounds = b; return nil }
}

// WithSummariser has summaries written by sum. The engine checks each text, adds
// the line "Expand for details about" where it is missing, and writes an
// extractive summary where sum fails.
func WithSummariser(sum Summariser) Option {
	return func(s *settings) error { s.summariser = sum; return nil }
}

// WithLargeContent sets the size in tokens above which content leaves the
// conversation for a payload (25,000).
func WithLargeContent(tokens int) Option {
	return func(s *settings) error { s.threshold = tokens; return nil }
}

// WithClock sets the clock, for tests.
func WithClock(now func() time.Time) Option {
	return func(s *settings) error { s.clock = now; return nil }
}

// WithLogger sets where failures of background work are reported
// (slog.Default).
func WithLogger(l *slog.Logger) Option {
	return func(s *settings) error { s.log = l; return nil }
}

// WithoutBackground has Append and Sync start no folding. Context and Compact still
// fold; a run that Context started goes on after Context has returned. It is for
// short-lived programs, which would end before the background work does.
func WithoutBackground() Option {
	return func(s *settings) error { s.foreground = true; return nil }
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
	e := &Engine{settings: set, budgets: budgets{usual: set.budget}, folds: map[ConversationID]*foldRun{}}
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
	return e, nil
}

// repairs has the store without restrictions and a runner on it. Erasing inside of a
// scope may leave a summary without text in a fork outside of it, which must be written
// anew. Nothing that repairs reads is returned to a caller.
type repairs struct {
	store  Store
	runner *compact.Runner
}

// Store returns the store that the engine works on, restricted as [Within] says.
func (e *Engine) Store() Store { return e.store }
