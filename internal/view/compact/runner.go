package compact

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/lossless-context/lcm/internal/record/lease"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// Store is the part of [store.Store] that a Runner uses.
type Store interface {
	Conversation(ctx context.Context, id store.ConversationID) (store.Conversation, error)
	View(ctx context.Context, id store.ConversationID, w store.Window) (store.View, error)
	Messages(ctx context.Context, q store.MessageQuery) iter.Seq2[store.Message, error]
	Summaries(ctx context.Context, q store.SummaryQuery) iter.Seq2[store.Summary, error]
	Sources(ctx context.Context, id store.SummaryID) ([]store.ID, error)
	Update(ctx context.Context, id store.ConversationID, fn func(store.Writer) error) error
}

// Bounds limit a run. Fields that are zero have the defaults given with them.
type Bounds struct {
	// MaxPasses is how many folds a run makes: 32. Hard and Full runs make as
	// many more as the size of the view needs.
	MaxPasses int
	// Deadline is how long a run may take: 120 s. A Hard run that is not below
	// the hard limit by then goes on without the model.
	Deadline time.Duration
	// SummaryTimeout is how long the summariser may take for one call: 60 s.
	SummaryTimeout time.Duration
	// MaxCalls is how many calls of the summariser a conversation may cost in
	// CallWindow: 24 in 10 minutes. Full runs are not counted.
	MaxCalls   int
	CallWindow time.Duration
	// SpendBackoff is how long background runs pause once those calls are
	// used up: 30 minutes.
	SpendBackoff time.Duration
	// LeaseTTL is how long a conversation stays taken if the process that
	// compacts it dies: 90 s.
	LeaseTTL time.Duration
}

func (b Bounds) withDefaults() Bounds {
	if b.MaxPasses <= 0 {
		b.MaxPasses = 32
	}
	if b.MaxCalls <= 0 {
		b.MaxCalls = 24
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&b.Deadline, 120 * time.Second},
		{&b.SummaryTimeout, 60 * time.Second},
		{&b.CallWindow, 10 * time.Minute},
		{&b.SpendBackoff, 30 * time.Minute},
		{&b.LeaseTTL, 90 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return b
}

// Config configures a Runner. Only Store is required.
type Config struct {
	Store Store
	// State keeps leases and ledgers. Without it a run is neither kept apart
	// from others nor bounded across restarts.
	State store.State
	// Summariser is asked first. Without one all summaries are extractive.
	Summariser summary.Summariser
	// Fallback writes a summary where Summariser fails, [summary.NewExtractive]
	// if it is nil. It must not need a network.
	Fallback summary.Summariser
	Counter  llms.Counter     // llms.Estimate if nil
	Clock    func() time.Time // time.Now if nil
	Policy   Policy
	Bounds   Bounds
	// Owner names this process in leases; it should be unique.
	Owner string
	// Ended reports whether the process that took a lease as owner is known to
	// have ended: then its lease is not waited for. Nil knows of none.
	Ended func(owner string) bool
}

// Runner compacts conversations. It is safe for concurrent use.
type Runner struct {
	store    Store
	ledger   *Ledger
	leases   *lease.Leases
	primary  summary.Summariser
	fallback summary.Summariser
	counter  llms.Counter
	clock    func() time.Time
	policy   Policy
	bounds   Bounds
	onFold   func(Report) // may be nil, see OnFold
	sizes    map[store.MessageID]int
}

// NewRunner returns a runner.
func NewRunner(c Config) (*Runner, error) {
	if c.Store == nil {
		return nil, errors.New("compact: no store was given")
	}
	if c.Fallback == nil {
		c.Fallback = summary.NewExtractive()
	}
	if c.Counter == nil {
		c.Counter = llms.Estimate
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	r := &Runner{
		store: c.Store, primary: c.Summariser, fallback: c.Fallback, counter: c.Counter, clock: c.Clock,
		policy: c.Policy.withDefaults(), bounds: c.Bounds.withDefaults(),
	}
	if c.Policy.SummaryFloor <= 0 {
		r.policy.SummaryFloor, r.policy.SourceFloor = floors(c.Counter)
	}
	if c.State != nil {
		r.ledger = NewLedger(c.State, c.Clock)
		r.leases = &lease.Leases{State: c.State, Space: store.LeaseSpace, Clock: c.Clock, Owner: c.Owner, Ended: c.Ended, TTL: r.bounds.LeaseTTL}
	}
	return r, nil
}

// OnFold returns a runner that calls fn after each fold, with the report of the
// run so far.
func (r *Runner) OnFold(fn func(Report)) *Runner {
	copied := *r
	copied.onFold = fn
	return &copied
}

// Sized returns a runner for which some messages have more tokens than in the view. They are
// folded, but not shown as references: that would not make them smaller.
func (r *Runner) Sized(tokens map[store.MessageID]int) *Runner {
	copied := *r
	copied.sizes = tokens
	return &copied
}

// Run compacts a conversation whose view is above the soft threshold until it is
// below the low threshold, or a bound is reached. The report says which; an error
// means that the store failed or ctx ended. The folds that the report counts stay
// folded.
func (r *Runner) Run(ctx context.Context, id store.ConversationID, lim Limits, mode Mode) (Report, error) {
	n := &run{Runner: r, id: id, mode: mode, lim: lim.withDefaults(), pol: r.policy, began: r.clock()}
	n.report = Report{Conversation: id, Mode: mode}
	if n.pol.FreshTailTokens <= 0 {
		n.pol.FreshTailTokens = n.lim.freshTail()
	}
	if mode == Full {
		// The thresholds also shape the tail and the tree, which are to be those of other
		// runs, so that a full run folds at least as much.
		n.pol.SummaryPrefixTokens = n.pol.scaled(n.lim).SummaryPrefixTokens
		n.lim.Soft, n.lim.Low = 1, 1
	}
	n.batch.size = 1
	if n.lim.hasLow() {
		n.batch.size = n.bounds.MaxPasses
	}
	err := n.guarded(ctx)
	n.report.Elapsed = r.clock().Sub(n.began)
	if err != nil {
		return n.report, fmt.Errorf("compacting conversation %d: %w", id, err)
	}
	return n.report, nil
}

// guarded runs if there is something to do, the ledger allows it and no other
// run holds the conversation. A run with nothing to do writes nothing.
func (n *run) guarded(ctx context.Context) error {
	c, err := n.store.Conversation(ctx, n.id)
	if err != nil {
		return err
	}
	n.report.TokensBefore, n.report.TokensAfter = c.ViewTokens, c.ViewTokens
	if c.ViewTokens < n.lim.Soft && len(n.sizes) == 0 {
		n.report.Reason = Below
		return nil
	}
	if err := n.read(ctx); err != nil {
		return err
	}
	if n.view.Tokens < n.lim.Soft {
		n.report.Reason = Below
		return nil
	}
	step := Plan(n.view, n.lim, n.pol)
	n.report.TokensBefore = n.view.Tokens
	if n.mode == Soft && !pays(n.view, n.lim, n.pol) {
		n.report.Reason, n.report.Detail = Exhausted, exhaustedFew
		return nil
	}
	if step.Fold == nil && len(step.Stubs) == 0 {
		n.finish(step)
		return nil
	}
	if n.ledger == nil {
		n.calls = n.bounds.MaxCalls
		if n.mode == Full {
			n.calls = math.MaxInt
		}
		return n.loop(ctx)
	}
	entry, err := n.ledger.open(ctx, n.id)
	if err != nil {
		return err
	}
	// A pause longer than the longest was written by a clock that has jumped
	// back since.
	if wait := entry.NotBefore.Sub(n.began); n.mode == Soft && wait > 0 && wait <= max(maxPause, n.bounds.SpendBackoff) {
		n.report.Reason = Pause
		n.report.Detail = fmt.Sprintf("%s; the next attempt is due in %s, a manual one at any time", entry.Detail, wait.Round(time.Second))
		return nil
	}
	return n.leased(ctx, entry)
}

// leased runs while it holds the conversation's lease. It reads the view again
// under the lease: messages may have been folded or erased since, and no model
// may be shown an erased message.
func (n *run) leased(ctx context.Context, entry *Entry) error {
	held, err := n.leases.Take(ctx, leaseOf(n.id), n.mode != Soft)
	if errors.Is(err, lease.ErrBusy) {
		n.report.Reason, n.report.Detail = Busy, "another process is compacting this conversation"
		return nil
	}
	if err != nil {
		return err
	}
	n.lease = held
	if err = n.reserve(ctx, entry); err == nil {
		err = n.read(ctx)
	}
	switch {
	case err != nil:
	case n.view.Tokens < n.lim.Soft:
		n.report.Reason = Done // another run was faster
	default:
		err = n.loop(ctx)
	}
	if err != nil {
		n.report.Reason, n.report.Detail = Interrupted, err.Error()
	}
	// The ledger is written even if the caller has gone.
	ctx = context.WithoutCancel(ctx)
	return errors.Join(err, n.ledger.close(ctx, entry, n.report, n.calls, n.bounds.SpendBackoff), held.Release(ctx))
}

func (n *run) reserve(ctx context.Context, entry *Entry) (err error) {
	switch {
	case n.mode == Full:
		n.calls = math.MaxInt
	case n.primary != nil:
		n.calls, err = n.ledger.reserve(ctx, entry, n.bounds)
	}
	return err
}
