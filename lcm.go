// Package lcm is lossless context memory for AI agents: it keeps every message
// of a conversation verbatim, folds older ones into a DAG of summaries that
// link back to their sources, and shows the model a bounded view.
//
// A program opens a store, makes an [Engine] and asks it for a [Session]:
//
//	db, err := sqlite.Open(ctx, "agent.db", sqlite.Options{})
//	engine, err := lcm.New(db)
//	session := engine.Session("support-bot/42")
//
// Then, each turn, it appends what was said and asks for what the model should
// see:
//
//	err = session.Append(ctx, llms.User("why does the build fail?"))
//	view, err := session.Context(ctx, 128_000)
//	// send view.Messages to the model
//
// Nothing else is needed: below the soft threshold the view is the history
// itself, above it older messages are folded in the background, and at the
// hard threshold Context waits until the view fits. With no model configured,
// summaries are extractive: made of sentences of the messages themselves,
// without a network and always the same.
//
// What was folded is not gone: every summary names its sources, and
// [Session.Verify] proves that every message is reachable, byte for byte.
package lcm

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/compact"
	"github.com/lossless-context/lcm/internal/ingest"
	"github.com/lossless-context/lcm/internal/process"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/summary"
	"github.com/lossless-context/lcm/llms"
)

// Engine holds what the sessions of a program share. It is safe for
// concurrent use, and so are its sessions.
type Engine struct {
	store    store.Store
	ingest   *ingest.Ingester
	runner   *compact.Runner
	settings settings
	budgets  sync.Map // of the last Context of each conversation
	asking   asking

	mu     sync.Mutex
	keeper *compact.Maintainer // started when there is first something to fold
	closed bool
}

// settings are what the options set.
type settings struct {
	counter    llms.Counter
	budget     int
	soft, hard float64
	policy     compact.Policy
	bounds     compact.Bounds
	summariser summary.Summariser
	threshold  int
	clock      func() time.Time
	log        *slog.Logger
	foreground bool
	expansion  expansion
	privacy    ingest.Privacy
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
// background (0.75) and at which Context waits for it (0.95).
func WithThresholds(soft, hard float64) Option {
	return func(s *settings) error {
		if !(soft > 0 && soft <= hard && hard <= 1) {
			return fmt.Errorf("thresholds %g and %g are out of order: want 0 < soft ≤ hard ≤ 1", soft, hard)
		}
		s.soft, s.hard = soft, hard
		return nil
	}
}

// WithPolicy sets how views are folded. Zero fields keep their defaults.
func WithPolicy(p compact.Policy) Option {
	return func(s *settings) error { s.policy = p; return nil }
}

// WithBounds sets how much one run of compaction may do. Zero fields keep
// their defaults.
func WithBounds(b compact.Bounds) Option {
	return func(s *settings) error { s.bounds = b; return nil }
}

// WithSummariser has summaries written by s. Whatever it returns is checked,
// and an extractive summary takes its place where it fails.
func WithSummariser(sum summary.Summariser) Option {
	return func(s *settings) error { s.summariser = sum; return nil }
}

// WithLargeContent sets the size in tokens above which content leaves the
// conversation for a payload (25,000).
func WithLargeContent(tokens int) Option {
	return func(s *settings) error { s.threshold = tokens; return nil }
}

// WithClock sets what time it is.
func WithClock(now func() time.Time) Option {
	return func(s *settings) error { s.clock = now; return nil }
}

// WithLogger sets where failures of background work are reported
// (slog.Default).
func WithLogger(l *slog.Logger) Option {
	return func(s *settings) error { s.log = l; return nil }
}

// WithoutBackground leaves all folding to Context and Compact: a short-lived
// program does not begin what it cannot finish.
func WithoutBackground() Option {
	return func(s *settings) error { s.foreground = true; return nil }
}

// MinBudget is the smallest budget that holds a summary and a few messages.
const MinBudget = 1_000

// New returns an engine on a store. The store stays the caller's to close,
// after the engine.
func New(s store.Store, options ...Option) (*Engine, error) {
	if s == nil {
		return nil, errors.New("lcm: no store was given")
	}
	set := settings{counter: llms.Estimate, budget: compact.DefaultBudget, soft: 0.75, hard: 0.95, clock: time.Now, log: slog.Default()}
	for _, o := range options {
		if err := o(&set); err != nil {
			return nil, fmt.Errorf("lcm: %w", err)
		}
	}
	e := &Engine{store: s, settings: set}
	var err error
	if e.ingest, err = ingest.New(s, set.counter, set.threshold, ingest.WithPrivacy(set.privacy)); err != nil {
		return nil, err
	}
	e.runner, err = compact.NewRunner(compact.Config{
		Store: s, State: s, Summariser: set.summariser, Counter: set.counter, Clock: set.clock,
		Policy: set.policy, Bounds: set.bounds, Owner: process.Owner(), Ended: process.Ended,
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Store returns the store that the engine works on.
func (e *Engine) Store() store.Store { return e.store }
