package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/lossless-context/lcm/core"
)

// Budget bounds the work that an agent hands on in one chat. Zero fields take
// the default; negative ones allow nothing.
type Budget struct {
	Depth    int // how deep hand-offs may nest; default 3
	Handoffs int // how often work may be handed on altogether; default 32
	Tokens   int // of all sub-agents together, in and out; default 1,000,000
}

// The defaults of Budget.
const (
	DefaultDepth    = 3
	DefaultHandoffs = 32
	DefaultTokens   = 1_000_000
)

func (b Budget) withDefaults() Budget {
	fill := func(v, usual int) int {
		if v == 0 {
			return usual
		}
		return max(v, 0)
	}
	return Budget{fill(b.Depth, DefaultDepth), fill(b.Handoffs, DefaultHandoffs), fill(b.Tokens, DefaultTokens)}
}

// ErrBudgetSpent is returned once the tokens of a scope are used up.
var ErrBudgetSpent = errors.New("the token budget for delegated work is spent")

// Scope is the room that an agent has for delegation. The scope of a chat is
// the root; each hand-off makes a narrower one for the sub-agent.
//
// Depth falls by one with each level and the number of hand-offs left by one
// with each hand-off anywhere in the tree. Both only fall and neither passes
// zero, so the tree of hand-offs is finite. There is no method that adds.
type Scope struct {
	depth  int
	tasks  []string // handed down to here, outermost first; empty for the root
	pool   *pool
	parent *Scope
	spent  int // tokens of this scope and those below; guarded by pool.mu
}

// pool is what the scopes of a tree draw from. One that was narrowed is
// within another, and what is drawn from it is drawn from both.
type pool struct {
	mu       *sync.Mutex // of the whole tree
	within   *pool
	handoffs int
	tokens   int
}

// NewScope returns the scope of a chat.
func NewScope(b Budget) *Scope {
	b = b.withDefaults()
	return &Scope{depth: b.Depth, pool: &pool{mu: new(sync.Mutex), handoffs: b.Handoffs, tokens: b.Tokens}}
}

// Narrow returns the scope in which an agent hands on work when it has a
// budget of its own: less of each, never more. Zero fields leave what there
// is. The agent's own calls are charged to s, since a budget is for helpers.
func (s *Scope) Narrow(b Budget) *Scope {
	left := s.Left()
	less := func(own, left int) int {
		if own == 0 {
			return left
		}
		return min(max(own, 0), left)
	}
	return &Scope{depth: less(b.Depth, left.Depth), tasks: s.tasks, parent: s, pool: &pool{mu: s.pool.mu, within: s.pool,
		handoffs: less(b.Handoffs, left.Handoffs), tokens: less(b.Tokens, left.Tokens)}}
}

// Delegated reports whether the agent in this scope works on a task that was
// handed to it.
func (s *Scope) Delegated() bool { return len(s.tasks) > 0 }

// Left returns the budget that is left.
func (s *Scope) Left() Budget {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.left()
}

// left is Left for a caller who holds the lock.
func (s *Scope) left() Budget {
	b := Budget{Depth: s.depth, Handoffs: s.pool.handoffs, Tokens: s.pool.tokens}
	for p := s.pool.within; p != nil; p = p.within {
		b.Handoffs, b.Tokens = min(b.Handoffs, p.handoffs), min(b.Tokens, p.tokens)
	}
	return b
}

// Charge takes the tokens of a model call from the budget.
func (s *Scope) Charge(u core.Usage) { s.charge(u.Total()) }

func (s *Scope) charge(tokens int) {
	tokens = max(0, tokens) // nothing a provider reports can give tokens back
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	for p := s.pool; p != nil; p = p.within {
		p.tokens = max(0, p.tokens-tokens)
	}
	for at := s; at != nil; at = at.parent {
		at.spent += tokens
	}
}

// settle charges what a sub-agent reports to have cost beyond what was
// charged while it ran, which is all of it for one that knows no scopes.
func (s *Scope) settle(total core.Usage) {
	s.pool.mu.Lock()
	missing := total.Total() - s.spent
	s.pool.mu.Unlock()
	if missing > 0 {
		s.charge(missing)
	}
}

// Err returns ErrBudgetSpent when a delegated agent has no tokens left. The
// agent at the root is not bounded by the budget for its helpers.
func (s *Scope) Err() error {
	if s.Delegated() && s.Left().Tokens <= 0 {
		return ErrBudgetSpent
	}
	return nil
}

// HandOff returns the scope for a task that is handed on, or an error that
// tells the model why it is not. An agent that itself works on a handed-down
// task must say what it keeps, and may not pass its task on unchanged: it
// would only add a layer that does nothing.
func (s *Scope) HandOff(task, keptWork string) (*Scope, error) {
	if strings.TrimSpace(task) == "" {
		return nil, errors.New("the task is empty: say what the sub-agent shall do")
	}
	if s.Delegated() {
		if strings.TrimSpace(keptWork) == "" {
			return nil, errors.New("you work on a task that was delegated to you: say in kept_work what you keep for yourself, or do the task yourself")
		}
		if similarity(task, keptWork) >= tooSimilar {
			return nil, errors.New("kept_work repeats the task: hand on a part and keep another, or do the task yourself")
		}
	}
	for _, ancestor := range s.tasks {
		if similarity(task, ancestor) >= tooSimilar || contains(task, ancestor) {
			return nil, errors.New("this is nearly the task that was delegated to you: do it yourself, or hand on a smaller part of it, in words of its own")
		}
	}
	if s.depth <= 0 {
		return nil, errors.New("delegation is nested too deeply here: do the task yourself")
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	left := s.left()
	if left.Tokens <= 0 {
		return nil, fmt.Errorf("%w: do the task yourself", ErrBudgetSpent)
	}
	if left.Handoffs <= 0 {
		return nil, errors.New("no more work can be delegated in this conversation: do the task yourself")
	}
	for p := s.pool; p != nil; p = p.within {
		p.handoffs--
	}
	tasks := append(append(make([]string, 0, len(s.tasks)+1), s.tasks...), task)
	return &Scope{depth: s.depth - 1, tasks: tasks, pool: s.pool, parent: s}, nil
}

type scopeKey struct{}

// WithScope returns a context in which work is delegated under s.
func WithScope(ctx context.Context, s *Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// ScopeFrom returns the scope that ctx carries, or nil.
func ScopeFrom(ctx context.Context) *Scope {
	s, _ := ctx.Value(scopeKey{}).(*Scope)
	return s
}
