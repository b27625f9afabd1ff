package lcm

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/record/scope"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/internal/settings/engineconfig"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/record"
)

// settings are set by options.
type settings struct {
	counter    llms.Counter
	budget     int
	soft, hard float64
	low        float64 // 0 is 0.4 of soft
	policy     compact.Policy
	bounds     compact.Bounds
	summariser record.Summariser
	threshold  int
	clock      func() time.Time
	log        *slog.Logger
	foreground bool
	expansion  expansion
	privacy    record.Privacy
	within     []record.Project // none: all
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
// it has begun. It is at most the soft threshold; 0 stands for 0.4 of that, and for
// 30,000 tokens, but at most 0.8 of it, where that is more.
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

// Policy says how a view is folded, see [WithPolicy]. Fields that are zero have the
// defaults given with them, which suit a budget of 128,000 tokens; smaller budgets use
// proportionally smaller chunks and targets.
type Policy struct {
	ViewPolicy
	LeafChunkTokens int // source tokens of a leaf summary: 12,000
	TargetTokens    int // length of a summary that a model writes: 2,000
	Fanout          int // summaries that are condensed together: 4
	// SummaryPrefixTokens is the total cost of summaries above which
	// condensing them is preferred to folding more messages: nine tenths of what the
	// fresh tail leaves of the low threshold.
	SummaryPrefixTokens int
}

// ViewPolicy says how much of a view is fresh and never folded.
type ViewPolicy struct {
	// FreshTail is how many of the newest messages are fresh: 64.
	FreshTail int
	// FreshTailTokens bounds the fresh messages: where the newest FreshTail messages have
	// more tokens than this, only the newest of them that fit are fresh. Zero is two
	// fifths of the low threshold: 15,360 tokens of a budget of 128,000.
	FreshTailTokens int
}

// WithPolicy sets how views are folded. Zero fields keep their defaults.
func WithPolicy(p Policy) Option {
	return func(s *settings) error {
		s.policy = compact.Policy{
			Policy: assemble.Policy(p.ViewPolicy), LeafChunkTokens: p.LeafChunkTokens, TargetTokens: p.TargetTokens,
			Fanout: p.Fanout, SummaryPrefixTokens: p.SummaryPrefixTokens,
		}
		return nil
	}
}

// Bounds limit one run of folding, see [WithBounds]. Fields that are zero have the
// defaults given with them.
type Bounds struct {
	// MaxPasses is how many folds a run makes: 32. [Session.Context] above the hard
	// threshold and [Session.Compact] make as many more as the size of the view needs.
	MaxPasses int
	// Deadline is how long a run may take: 120 s. One that is not below the hard
	// threshold by then goes on without the model.
	Deadline time.Duration
	// SummaryTimeout is how long the summariser may take for one call: 60 s.
	SummaryTimeout time.Duration
	// MaxCalls is how many calls of the summariser a conversation may cost in
	// CallWindow: 24.
	MaxCalls int
	// CallWindow is the time in which MaxCalls are counted: 10 minutes.
	CallWindow time.Duration
	// SpendBackoff is how long background runs pause once MaxCalls are used up:
	// 30 minutes.
	SpendBackoff time.Duration
	// LeaseTTL is how long a conversation stays taken if the process that
	// folds it dies: 90 s.
	LeaseTTL time.Duration
}

// WithBounds sets how much one run of folding may do. Zero fields keep
// their defaults.
func WithBounds(b Bounds) Option {
	return func(s *settings) error { s.bounds = compact.Bounds(b); return nil }
}

// WithSummariser has summaries written by sum. The engine checks each text, adds
// the line "Expand for details about" where it is missing, and writes an
// extractive summary where sum fails.
func WithSummariser(sum record.Summariser) Option {
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

// expansion is how questions about the record are answered.
type expansion struct {
	engine    llms.Model
	limits    recall.Limits
	newRunner func(llms.Model) delegation.Runner
}

// WithAskModel has a model answer questions about the record. Without it, the
// model of the agent that asks answers: the one of [recall.Question].Model or [WithCallerModel],
// else the model that the agent of package agents runs on. Without any model, the
// answer is verbatim passages.
func WithAskModel(e llms.Model) Option {
	return func(s *settings) error {
		if e == nil {
			return errors.New("the model for questions is nil")
		}
		s.expansion.engine = e
		return nil
	}
}

// WithAskLimits bounds the cost of one question about the record. Zero
// fields keep their defaults.
func WithAskLimits(l recall.Limits) Option {
	return func(s *settings) error { s.expansion.limits = l; return nil }
}

// WithPrivacy keeps sessions, projects and secrets out of the record. It applies
// to every message that the engine stores.
func WithPrivacy(p record.Privacy) Option {
	return func(s *settings) error { s.privacy = p; return nil }
}

// WithSettings applies the user's settings as the command does: environment
// variables (LCM_MAX_EXPAND_TOKENS and others) over the settings file over the
// defaults; docs/CONFIG.md lists them. It leaves out the settings that choose
// models and tokenizers: pass those with [WithAskModel],
// [WithSummariser] and [WithCounter]. Options after it win.
func WithSettings() Option {
	return func(s *settings) error {
		cfg, err := config.Load(config.Options{})
		if err != nil {
			return err
		}
		v := engineconfig.Of(cfg)
		s.policy, s.bounds = v.Policy, v.Bounds
		for _, o := range []Option{
			WithBudget(v.Budget), WithThresholds(v.Soft, v.Hard), WithLowThreshold(v.Low),
			WithLargeContent(v.LargeContent), WithPrivacy(v.Privacy), WithAskLimits(v.Limits),
		} {
			if err := o(s); err != nil {
				return err
			}
		}
		return nil
	}
}

// WithProjects restricts an engine to the given projects. For its sessions, their tools,
// [Engine.Grep], [Engine.Ask] and [Engine.Store], nothing else exists in the
// store: ids of other projects are not found, searches of all conversations stay
// inside, and nothing outside can be written or erased.
//
// Programs with several tenants give each tenant an engine of its own on the one
// store, and a project of its own:
//
//	acme := record.Project{Root: "tenants/acme"}
//	engine, err := lcm.New(db, lcm.WithProjects(acme))
//	session := engine.Session("acme/support/42") // in the project acme
//
// A session of an engine with one project is in that project unless [WithProject]
// names another one; with several projects, WithProject is required. Session keys
// are shared by all engines of a store: begin them with the tenant's name.
func WithProjects(projects ...record.Project) Option {
	return func(s *settings) error {
		if len(projects) == 0 {
			return errors.New("WithProjects: name at least one project")
		}
		for _, p := range projects {
			if p == (record.Project{}) {
				return errors.New("WithProjects: a project needs an origin or a root")
			}
		}
		s.within = projects
		return nil
	}
}

// narrow restricts a store to projects.
func narrow(s Store, to []record.Project) Store {
	names := make([]string, len(to))
	for i, p := range to {
		names[i] = fmt.Sprintf("%q %q", p.Origin, p.Root)
	}
	return scope.Narrow(s, scope.Scope{Name: strings.Join(names, ","), Covers: scope.Projects(to...), Append: true, Erase: true})
}

// MinBudget is the smallest budget that holds a summary and a few messages.
const MinBudget = 1_000

func tooSmall(budget int) error {
	return fmt.Errorf("a budget of %d tokens is too small: use at least %d", budget, MinBudget)
}

// maxBudgets is how many sessions' budgets are remembered, at least.
const maxBudgets = 4096

// budgets has the budget that each session was last used with, by its key. It
// applies to calls that name none, and to folding in the background. Sessions that
// were used long ago are forgotten and have the usual budget again, so that an engine
// may serve any number of them.
type budgets struct {
	usual int // WithBudget

	mu   sync.Mutex
	last map[string]int
	old  map[string]int // last, before it was full
}

// lastOf returns the last budget of a session, else the usual one.
func (b *budgets) lastOf(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n, ok := b.last[key]; ok {
		return n
	}
	if n, ok := b.old[key]; ok {
		b.remember(key, n)
		return n
	}
	return b.usual
}

// of returns the budget for a call that names one, or 0 for the last one.
func (b *budgets) of(key string, named int) (int, error) {
	switch {
	case named == 0:
		return b.lastOf(key), nil
	case named < MinBudget:
		return 0, tooSmall(named)
	}
	return named, nil
}

// use is of, and remembers the budget that the call names.
func (b *budgets) use(key string, named int) (int, error) {
	budget, err := b.of(key, named)
	if err == nil && named != 0 {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.remember(key, named)
	}
	return budget, err
}

// remember sets the last budget of a session. The caller holds mu.
func (b *budgets) remember(key string, budget int) {
	if _, known := b.last[key]; !known && len(b.last) >= maxBudgets {
		b.last, b.old = nil, b.last
	}
	if b.last == nil {
		b.last = map[string]int{}
	}
	b.last[key] = budget
}
