package delegation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/kit/guard"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// Ask answers a question. It fails only where the question itself is wrong
// (the error says how to correct it), where the record cannot be read, and where ctx
// ends; evidence replaces a model that fails.
func (d *Delegator) Ask(ctx context.Context, q recall.Question) (answer recall.Answer, err error) {
	ctx, span := tracing.Start(ctx, "recall.ask")
	defer func() {
		span.Int("cited", len(answer.CitedIDs))
		span.End(err)
	}()
	if delegated(ctx) {
		return recall.Answer{}, ErrRecursion
	}
	r := request{Question: q}
	if err := r.check(); err != nil {
		return recall.Answer{}, err
	}
	late := false
	if r.Caller != "" { // calls without a caller are not serialised
		done, err := d.turnOf(ctx, r.Caller)
		switch {
		case err == nil:
			defer done()
		case ctx.Err() != nil:
			return recall.Answer{}, fmt.Errorf("the question was given up while others of the same caller were answered: %w", err)
		}
		late = err != nil
	}
	p, err := d.plan(ctx, r)
	if err != nil {
		return recall.Answer{}, err
	}
	if !p.found {
		return nothing(r, p), nil
	}
	runner := d.config.Runner
	if runner == nil && r.Model != nil && d.config.NewRunner != nil {
		runner = d.config.NewRunner(r.Model)
	}
	if runner == nil {
		runner, _ = ctx.Value(runnerKey{}).(Runner)
	}
	switch {
	case r.Output == recall.OutputEvidence:
		return d.evidence(ctx, r, p, "")
	case runner == nil:
		return d.evidence(ctx, r, p, noModel)
	case late:
		return d.evidence(ctx, r, p, reason(fmt.Errorf("%w: other questions of the same caller took the time", errTimeout)))
	}
	a, err := d.delegate(ctx, r, p, runner)
	switch {
	case err == nil:
		err := d.beside(ctx, r, p, &a)
		return a, err
	case ctx.Err() != nil:
		return recall.Answer{}, context.Cause(ctx)
	}
	r.used, r.read = a.Usage, a.TotalSourceTokens
	return d.evidence(ctx, r, p, reason(err))
}

// turnOf waits for the turn of a caller, but not so long that there is no time for evidence.
func (d *Delegator) turnOf(ctx context.Context, caller string) (done func(), err error) {
	if _, ok := ctx.Deadline(); ok {
		patience, _ := d.patience(ctx)
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, patience)
		defer stop()
	}
	return d.turns.Take(ctx, caller)
}

// beside puts evidence next to an answer that cites nothing, in the room that the answer
// leaves. The answer may be honest, as nothing was there, or made up.
func (d *Delegator) beside(ctx context.Context, r request, p *plan, a *recall.Answer) error {
	if r.MaxTokens -= d.count(a.Answer); len(a.CitedIDs) > 0 || r.MaxTokens < recall.MinMaxTokens {
		return nil
	}
	r.text = min(r.text, r.MaxTokens)
	found, err := d.evidence(ctx, r, p, "")
	if found.Method == recall.MethodEvidence {
		a.Evidence, a.Damaged = found.Answer, found.Damaged
		a.TotalSourceTokens += found.TotalSourceTokens
		setCut(a, found.Truncated || cutBy(*a, cutMaxTokens), cutBy(*a, cutExpansion))
	}
	return err
}

// NoModel begins noModel, the reason for evidence where there is no model to ask.
const (
	NoModel = "no_model"
	noModel = NoModel + ": LCM_EXPANSION_MODEL sets one, lcm.WithAskModel in a program"
)

// empty is an answer that rests on nothing.
func empty(p *plan) recall.Answer {
	return recall.Answer{
		Method: recall.MethodNone, Scope: p.scope, CitedIDs: []store.ID{}, Citations: []recall.Citation{},
		SourceConversationIDs: []store.ConversationID{}, Notes: p.notes, NotInRecord: p.absent,
	}
}

// unanswered is the answer where a sub-agent failed and there is no passage to show
// instead.
func unanswered(r request, p *plan, why string) recall.Answer {
	a := empty(p)
	a.Usage, a.TotalSourceTokens, a.Reason = r.used, r.read, why
	a.Answer = fmt.Sprintf("The question was not answered: the sub-agent failed after reading %d tokens (%s). "+
		"No passage has the words of the question, so that none can be quoted instead. "+
		"Ask again about fewer summaries, or with words that the record uses.", r.read, why)
	return a
}

// nothing is the answer without a match: the scope of the search, and a hint.
func nothing(r request, p *plan) recall.Answer {
	a := empty(p)
	query, elsewhere := "the question", ""
	if r.Query != "" {
		query = strconv.Quote(prose.Clip(r.Query, 120))
	}
	if r.Widens() && p.scope.Kind != recall.ScopeAll {
		query += ", and nothing in any other project does"
	}
	if p.elsewhere != nil {
		elsewhere = fmt.Sprintf("Other conversations have %d matches: ask again with allConversations: true. ", p.elsewhere.Hits)
	}
	a.Answer = fmt.Sprintf("Nothing in %s matches %s: messages and summaries were searched, tool calls and files included. %s"+
		"Try other words for the query, or find them with lcm_grep and pass summaryIds.", p.scope, query, elsewhere)
	a.Reason = "no_match: nothing was found to answer from"
	return a
}

// outcome is the result of one sub-agent. Its answer has the cost also where it failed.
type outcome struct {
	recall.Answer
	err error
}

// delegate asks a sub-agent for each bucket, side by side under one deadline,
// and merges their answers. The answer says what was spent and read even if it fails.
func (d *Delegator) delegate(ctx context.Context, r request, p *plan, runner Runner) (recall.Answer, error) {
	patience, grace := d.patience(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, patience,
		fmt.Errorf("%w: the sub-agent did not answer within %v", errTimeout, patience.Round(time.Millisecond)))
	defer cancel()
	asked := p.buckets[:min(len(p.buckets), d.config.Limits.Parallel)]
	outcomes := make([]outcome, len(asked))
	share := r
	share.MaxTokens = shares(asked, r.MaxTokens, d.count)
	var running sync.WaitGroup
	for i, b := range asked {
		running.Go(func() {
			meter := newMeter(d.config.Limits.ModelTokens/len(asked), d.window(runner), d.count)
			o := &outcomes[i]
			o.err = guard.Run(func() (err error) {
				o.Answer, err = d.askChild(ctx, share, b, runner, meter, grace, d.config.Limits.ExpandTokens/len(asked))
				return err
			})
			if p, ok := o.err.(*guard.Panic); ok { // of a counter or a store that is not ours
				o.err = fmt.Errorf("%w: checking the answer crashed: %v", errPanic, p.Value)
			}
			o.Usage, o.TotalSourceTokens = meter.spent()
			if o.err != nil {
				o.err = redactedError{o.err}
			}
		})
	}
	running.Wait()
	a, err := merge(outcomes, asked, r, d.count)
	if err != nil {
		return a, err
	}
	a.Scope, a.Model, a.Method, a.NotInRecord = p.scope, runner.Name(), recall.MethodDelegated, p.absent
	a.Notes = append(append([]string{}, p.notes...), a.Notes...)
	skip(&a, p.buckets[len(asked):])
	return a, nil
}

// evidenceTime is kept of a caller's deadline, to answer with evidence if the model
// has not answered.
const evidenceTime = 3 * time.Second

// patience is how long sub-agents may take, and how long those whose time is up
// are waited for.
func (d *Delegator) patience(ctx context.Context) (patience, grace time.Duration) {
	patience, grace = d.config.Limits.Timeout, graceTime
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		kept := min(left/2, evidenceTime)
		patience, grace = min(patience, left-kept), min(grace, kept/2)
	}
	return patience, grace
}

// skip says which conversations matched but were not asked.
func skip(a *recall.Answer, rest []*bucket) {
	for _, b := range rest {
		a.Skipped = append(a.Skipped, b.Conversations[0])
	}
	if n := len(a.Skipped); n > 0 {
		note(a, "%d more conversations match but were not asked: ask again with conversationId for one of skippedConversationIds", n)
	}
}

// Why a sub-agent has no answer. The codes begin the reason that the caller
// reads.
var (
	errTimeout = errors.New("timeout")
	errSpawn   = errors.New("spawn_failed")
	errModel   = errors.New("model_failed")
	errReply   = errors.New("reply_invalid")
	errGround  = errors.New("ungrounded")
	errPanic   = errors.New("panic")
)

func reason(err error) string { return prose.Clip(err.Error(), 400) + instead }

// instead ends the reason for evidence in the place of an answer.
const instead = "; the passages below are quoted from the record instead"

// askChild runs one sub-agent from its grant to its verified answer. If a page was too large
// for its model, another one begins anew with smaller pages.
func (d *Delegator) askChild(
	ctx context.Context, r request, b *bucket, runner Runner, meter *Meter, grace time.Duration, tokens int,
) (recall.Answer, error) {
	d.children.Add(1)
	defer d.children.Add(-1)
	deadline, _ := ctx.Deadline()
	allows := b.Allowance
	allows.First = slices.Concat(b.First, b.deeper)
	allows.Tokens, allows.PageTokens, allows.Depth = tokens, d.config.Limits.PageTokens, d.config.Limits.Depth
	allows.Expires = d.config.Clock().Add(time.Until(deadline))
	for {
		c := &child{key: fmt.Sprintf("agent:%s:subagent:%s", r.Agent, d.config.NewID()), meter: meter, grant: newGrant(allows, d.config, meter, uuid()[:8])}
		answer, err := d.answerOf(ctx, r, c, runner, grace)
		window := 0
		if err != nil {
			window = meter.again()
		}
		if window == 0 {
			return answer, err
		}
		d.windows.Store(runner.Name(), window)
	}
}

// window is how many tokens the model of a runner takes, as far as it is known.
func (d *Delegator) window(r Runner) int {
	w, _ := d.windows.Load(r.Name())
	n, _ := w.(int)
	return n
}

// answerOf has one sub-agent work on its task, and verifies its reply. A sub-agent that
// ignores its context is left behind with a revoked grant.
func (d *Delegator) answerOf(ctx context.Context, r request, c *child, runner Runner, grace time.Duration) (recall.Answer, error) {
	defer c.end()
	said, err := guard.Call(ctx, grace, func(ctx context.Context) (reply, error) {
		return d.converse(context.WithValue(ctx, delegatedKey{}, c.key), r, c, runner)
	})
	p, crashed := err.(*guard.Panic)
	switch {
	case err == nil:
		return d.verified(r, c.grant, said), nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case crashed:
		err = fmt.Errorf("%w: the sub-agent crashed: %v", errPanic, p.Value)
	case err == guard.ErrNoResult:
		err = fmt.Errorf("%w: the sub-agent ended without a reply", errPanic)
	}
	return recall.Answer{}, err
}

// graceTime is how long a sub-agent whose time is up is waited for.
const graceTime = 2 * time.Second

// converse puts the task to a sub-agent. A reply that cannot be read, or that rests
// on nothing in the record, is asked for once more.
func (d *Delegator) converse(ctx context.Context, r request, c *child, runner Runner) (reply, error) {
	message, err := taskPrompt(r, c.grant.allows)
	if err != nil {
		return reply{}, err
	}
	session, err := runner.Spawn(ctx, Child{Key: c.key, System: systemPrompt, Tools: c.grant.Tools(), Meter: c.meter})
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", errSpawn, err)
	}
	if !c.hold(session) {
		return reply{}, fmt.Errorf("%w: the session was opened when the question was over", errSpawn)
	}
	for again := false; ; again = true {
		text, err := session.Ask(ctx, message)
		if stop := c.meter.stopped(); err != nil && stop != nil {
			return reply{}, stop
		}
		if err != nil {
			return reply{}, fmt.Errorf("%w: %w", errModel, err)
		}
		said, no := c.grant.judge(text, r)
		switch {
		case no == nil:
			return said, nil
		case again:
			return reply{}, fmt.Errorf("%w: the sub-agent's answer was not accepted, twice: %s", no.code, no.problem)
		}
		message = againPrompt(no)
	}
}

// rejection says why a reply is not accepted.
type rejection struct {
	code    error // errReply or errGround
	problem string
	hint    string // for the sub-agent
}

func (d *Delegator) count(text string) int { return d.config.count(text) }

// child is a sub-agent with its grant. Both end with the question, in every case.
type child struct {
	key   string
	grant *Grant
	meter *Meter

	mu      sync.Mutex
	session Session
	over    bool
}

// hold keeps a session that was opened, to close it in the end. One that comes
// too late is closed at once.
func (c *child) hold(s Session) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		s.Close()
		return false
	}
	c.session = s
	return true
}

// end revokes the grant and closes the session. It does not wait for a
// sub-agent that ignores its context.
func (c *child) end() {
	c.grant.Revoke()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over && c.session != nil {
		defer c.session.Close()
	}
	c.over = true
}
