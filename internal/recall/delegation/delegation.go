// Package delegation answers questions about the record without showing the raw
// record to the caller. [Delegator.Ask] finds the messages and summaries that match a
// question, gives a sub-agent access to exactly these, checks its answer against
// the texts it has read, and returns a short answer with verified citations.
//
// # The grant
//
// A plan finds what a question is about, and puts it into an [Allowance] for each sub-agent: the
// conversations and ids that it may open. A [Grant] is an allowance with a budget of tokens and an
// expiry. Only [Grant.Tools] makes the sub-agent's tools (lcm_expand, and an lcm_grep
// and an lcm_describe limited to the grant), so that no other agent can be given them.
// Each page that they return is charged, and noted with the summaries above its pieces.
// Counts, totals and the check of citations use these notes and never the claims of a model.
//
// # The loop
//
// A sub-agent gets its task, reads page by page, and replies. [Grant] judges the reply; one that it
// refuses is asked for once more. If a page was too large for the model, another sub-agent begins
// anew with smaller pages. What is accepted is checked against the notes and quoted from them.
//
// # Guarantees
//
// An answer rests on texts that the sub-agent has read. Ask rejects an answer without
// reading, without a citation of a text that was read, or of whose names and numbers none
// was read, once, and then refuses it. Where only some were never read, a note of the
// answer names them. An answer that cites nothing keeps its text; a note says that nothing supports it, and
// evidence stands beside it. A question costs a bounded number of model tokens ([Limits], [Meter]), and room to answer
// is always kept of them: nothing is served unless the model can be called twice
// afterwards. What matches the question is served first, and the second page has all the
// rest that fits the model's window, since every call repeats what was read before. The window is learned
// from a refusal: the sub-agent begins anew with half of what was refused. A sub-agent that calls its model
// three times without reading anything ends. The answer has the cost.
//
// The caller gets no more of the record than the cap on the answer, quotes included.
// Without a model, or if it fails or time is up, the answer consists of the best verbatim
// passages under the same cap, and says so: Ask never fails for want of a model. However
// a question ends (answer, error, time-out, cancellation, panic), Ask revokes its grant
// and closes its child session before it returns. Questions of one caller queue, each with
// a deadline of its own; Ask refuses a question from inside a question.
//
// Stored text is untrusted: the sub-agent sees it as data between markers that it cannot
// forge.
//
// # Other packages
//
// Package recall finds and opens; a [Runner] runs the sub-agent (the root
// package has one on package agents). Nothing is written to the record.
package delegation

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/turns"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Recall is the part of package recall that delegation uses.
type Recall interface {
	Grep(ctx context.Context, r recall.GrepRequest) (recall.GrepAnswer, error)
	Expand(ctx context.Context, r recall.ExpandRequest) (recall.ExpandAnswer, error)
	Describe(ctx context.Context, r recall.DescribeRequest) (recall.DescribeAnswer, error)
}

// Runner runs sub-agents. It is implemented where an agent runtime is known.
type Runner interface {
	// Name says which model answers.
	Name() string
	// Spawn opens a child session. It lives in memory and is never written to
	// the record.
	Spawn(ctx context.Context, c Child) (Session, error)
}

type runnerKey struct{}

// WithRunner has sub-agents of r answer the questions that are asked with the context, where
// there is no model.
func WithRunner(ctx context.Context, r Runner) context.Context {
	return context.WithValue(ctx, runnerKey{}, r)
}

// Child describes a sub-agent.
type Child struct {
	Key    string // agent:<agentId>:subagent:<uuid>
	System string
	Tools  []core.Tool
	// Meter bounds the cost of the sub-agent: its model is to be called through
	// [Meter.Engine].
	Meter *Meter
}

// Session is a sub-agent's session. Ask ends with its context. Close frees the session;
// it is called once, and if Ask ignores its context also while Ask is running.
type Session interface {
	Ask(ctx context.Context, message string) (string, error)
	Close()
}

func withDefaults(l recall.Limits) recall.Limits {
	fill := func(v *int, usual int) {
		if *v <= 0 {
			*v = usual
		}
	}
	fill(&l.ExpandTokens, recall.DefaultExpandTokens)
	fill(&l.PageTokens, recall.DefaultPageTokens)
	fill(&l.Parallel, recall.DefaultParallel)
	fill(&l.ModelTokens, recall.DefaultModelTokens)
	if l.Timeout <= 0 {
		l.Timeout = recall.DefaultTimeout
	}
	return l
}

// Config configures a Delegator. Recall and Store are required.
type Config struct {
	Recall Recall
	Store  lookup.Store
	// Runner runs sub-agents. Where it is nil, NewRunner makes one for the Model of a
	// request; where that is nil too, answers are evidence.
	Runner    Runner
	NewRunner func(llms.Model) Runner
	Counter   llms.Counter     // estimates where nil
	Clock     func() time.Time // time.Now where nil
	// NewID returns the random part of a child session's key; a UUID where
	// nil.
	NewID  func() string
	Limits recall.Limits
}

// Delegator answers questions about the record. It is safe for concurrent
// use.
type Delegator struct {
	config   Config
	turns    turns.Turns // of the callers
	children atomic.Int32
	windows  sync.Map // by the name of a model, how many tokens it takes
}

// New returns a Delegator.
func New(c Config) (*Delegator, error) {
	if c.Recall == nil || c.Store == nil {
		return nil, errors.New("delegation: a store and a recall service are needed")
	}
	if c.Counter == nil {
		c.Counter = llms.Estimate
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.NewID == nil {
		c.NewID = uuid
	}
	c.Limits = withDefaults(c.Limits)
	return &Delegator{config: c}, nil
}

// Live returns how many child sessions, each with its grant, are open, and how
// many callers have a question under way.
func (d *Delegator) Live() (children, callers int) {
	return int(d.children.Load()), d.turns.Keys()
}

// count counts the tokens of a text.
func (c Config) count(text string) int {
	if text == "" {
		return 0
	}
	return c.Counter.Count(text)
}

// uuid returns a random UUID of version 4.
func uuid() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

type delegatedKey struct{}

// ErrRecursion refuses a question that is asked from inside a question.
var ErrRecursion = errors.New("lcm_expand_query cannot be used while answering for lcm_expand_query: use lcm_expand")

// delegated reports whether ctx belongs to a sub-agent of this package.
func delegated(ctx context.Context) bool { return ctx.Value(delegatedKey{}) != nil }
