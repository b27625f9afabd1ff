package delegation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lossless-context/lcm/store"
)

// Ask answers a question. It fails only where the question itself is wrong
// (the error says what to mend), where the record cannot be read, and where
// ctx ends; a model that fails is replaced by evidence.
func (d *Delegation) Ask(ctx context.Context, r Request) (Answer, error) {
	if delegated(ctx) {
		return Answer{}, ErrRecursion
	}
	if err := r.check(); err != nil {
		return Answer{}, err
	}
	done, err := d.turns.take(ctx, r.Caller)
	if err != nil {
		return Answer{}, fmt.Errorf("the question was given up while others of the same caller were answered: %w", err)
	}
	defer done()
	p, err := d.plan(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	if !p.found {
		return nothing(r, p), nil
	}
	runner := d.config.Runner
	if runner == nil {
		runner = r.Runner
	}
	switch {
	case r.Output == OutputEvidence:
		return d.evidence(ctx, r, p, "")
	case runner == nil:
		return d.evidence(ctx, r, p, "no_model: no model is configured to answer with (LCM_EXPANSION_MODEL)")
	}
	a, err := d.delegate(ctx, r, p, runner)
	if err != nil {
		if ctx.Err() != nil {
			return Answer{}, context.Cause(ctx)
		}
		return d.evidence(ctx, r, p, reason(err))
	}
	return a, nil
}

// nothing says what was searched, and what to try.
func nothing(r Request, p *plan) Answer {
	a := Answer{
		Method: MethodNone, Scope: p.scope, CitedIDs: []string{}, Citations: []Citation{},
		SourceConversationIDs: []store.ConversationID{}, Notes: p.notes,
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Nothing in %s matches %q", p.scope, clip(r.Query, 120))
	if r.Query == "" {
		b.Reset()
		fmt.Fprintf(&b, "Nothing in %s matches the question", p.scope)
	}
	b.WriteString(": messages and summaries were searched, tool calls and files included. ")
	if p.elsewhere != nil {
		fmt.Fprintf(&b, "Other conversations have %d matches: ask again with allConversations: true. ", p.elsewhere.Hits)
	}
	b.WriteString("Try other words for the query, or find them with lcm_grep and pass summaryIds.")
	a.Answer = b.String()
	a.Reason = "no_match: nothing was found to answer from"
	return a
}

// outcome is what one sub-agent's answer came to.
type outcome struct {
	answer Answer
	err    error
}

// delegate asks a sub-agent for each bucket, side by side under one deadline,
// and merges what they say.
func (d *Delegation) delegate(ctx context.Context, r Request, p *plan, runner Runner) (Answer, error) {
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
			defer func() {
				if p := recover(); p != nil { // a counter or a store that is not ours
					outcomes[i] = outcome{err: fmt.Errorf("%w: checking the answer crashed: %v", errPanic, p)}
				}
			}()
			outcomes[i].answer, outcomes[i].err = d.askChild(ctx, share, b, runner, allotment{d.config.Limits.ExpandTokens / len(asked), grace})
		})
	}
	running.Wait()
	a, err := merge(outcomes, asked, r, d.count)
	if err != nil {
		return a, err
	}
	a.Scope, a.Model, a.Method = p.scope, runner.Name(), MethodDelegated
	a.Notes = append(append([]string{}, p.notes...), a.Notes...)
	skip(&a, p.buckets[len(asked):])
	return a, nil
}

// evidenceTime is what is kept of a caller's own deadline to answer with
// evidence when the model has not.
const evidenceTime = 3 * time.Second

// patience is how long sub-agents may take, and how long those whose time is up
// are waited for.
func (d *Delegation) patience(ctx context.Context) (patience, grace time.Duration) {
	patience, grace = d.config.Limits.Timeout, graceTime
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		kept := min(left/2, evidenceTime)
		patience, grace = min(patience, left-kept), min(grace, kept/2)
	}
	return patience, grace
}

// allotment is what one sub-agent gets of what a question may cost.
type allotment struct {
	tokens int
	grace  time.Duration
}

// skip says which conversations matched but were not asked.
func skip(a *Answer, rest []*bucket) {
	for _, b := range rest {
		a.Skipped = append(a.Skipped, b.conversations[0])
	}
	if n := len(a.Skipped); n > 0 {
		a.note("%d more conversations match but were not asked: ask again with conversationId for one of skippedConversationIds", n)
	}
}

// Why a sub-agent has no answer. The codes begin the reason that the caller
// reads.
var (
	errTimeout = errors.New("timeout")
	errSpawn   = errors.New("spawn_failed")
	errModel   = errors.New("model_failed")
	errReply   = errors.New("reply_invalid")
	errPanic   = errors.New("panic")
)

func reason(err error) string { return clip(err.Error(), 400) + instead }

// instead ends the reason for evidence in the place of an answer.
const instead = "; the passages below are quoted from the record instead"

// askChild runs one sub-agent from its grant to its verified answer.
func (d *Delegation) askChild(ctx context.Context, r Request, b *bucket, runner Runner, of allotment) (Answer, error) {
	key := fmt.Sprintf("agent:%s:subagent:%s", r.Agent, d.config.NewID())
	deadline, _ := ctx.Deadline()
	c := &child{key: key, grant: newGrant(Allowance{
		Session: key, Conversations: b.conversations, Summaries: b.summaries, Messages: b.messages,
		Tokens: of.tokens, PageTokens: d.config.Limits.PageTokens, Depth: d.config.Limits.Depth,
		Expires: d.config.Clock().Add(time.Until(deadline)),
	}, d.config, uuid()[:8]), grace: of.grace}
	d.enter(c)
	defer d.leave(c)
	said, err := d.converse(ctx, r, b, runner, c)
	if err != nil {
		return Answer{}, err
	}
	return d.verified(ctx, r, b, c.grant, said)
}

// converse has the sub-agent work on its task in a goroutine of its own: one
// that ignores its context is left behind, with a revoked grant.
func (d *Delegation) converse(ctx context.Context, r Request, b *bucket, runner Runner, c *child) (reply, error) {
	type result struct {
		reply
		err error
	}
	ended := make(chan result, 1)
	go func() {
		out := result{err: fmt.Errorf("%w: the sub-agent ended without a reply", errPanic)}
		defer func() {
			if p := recover(); p != nil {
				out.err = fmt.Errorf("%w: the sub-agent crashed: %v", errPanic, p)
			}
			ended <- out
		}()
		out.reply, out.err = d.talk(context.WithValue(ctx, delegatedKey{}, c.key), r, b, runner, c)
	}()
	select {
	case out := <-ended:
		if out.err != nil && ctx.Err() != nil {
			return reply{}, context.Cause(ctx)
		}
		return out.reply, out.err
	case <-ctx.Done():
	}
	// Time is up. A sub-agent that honours its context is gone in a moment,
	// and its session with it.
	grace := time.NewTimer(c.grace)
	defer grace.Stop()
	select {
	case <-ended:
	case <-grace.C:
	}
	return reply{}, context.Cause(ctx)
}

// graceTime is how long a sub-agent whose time is up is waited for.
const graceTime = 2 * time.Second

// talk puts the task to a sub-agent and, where its reply cannot be read, asks
// once more for the form of it.
func (d *Delegation) talk(ctx context.Context, r Request, b *bucket, runner Runner, c *child) (reply, error) {
	task, err := taskPrompt(r, b)
	if err != nil {
		return reply{}, err
	}
	session, err := runner.Spawn(ctx, Child{Key: c.key, System: systemPrompt, Tools: tools(c.grant)})
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", errSpawn, err)
	}
	if !c.hold(session) {
		return reply{}, fmt.Errorf("%w: the session was opened when the question was over", errSpawn)
	}
	text, err := session.Ask(ctx, task)
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", errModel, err)
	}
	said, problem := parseReply(text)
	if problem == nil {
		return said, nil
	}
	c.grant.seal()
	again, err := againPrompt(problem)
	if err != nil {
		return reply{}, err
	}
	if text, err = session.Ask(ctx, again); err != nil {
		return reply{}, fmt.Errorf("%w: %w", errModel, err)
	}
	if said, problem = parseReply(text); problem != nil {
		return reply{}, fmt.Errorf("%w: the sub-agent's reply could not be read, twice: %w", errReply, problem)
	}
	return said, nil
}

func (d *Delegation) count(text string) int {
	if text == "" {
		return 0
	}
	return d.config.Counter.Count(text)
}
