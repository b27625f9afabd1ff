package delegation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// Why a grant refuses a call. The texts around them tell the sub-agent how to go on.
var (
	ErrRevoked    = errors.New("the grant was revoked")
	ErrExpired    = errors.New("the grant has expired")
	ErrSpent      = errors.New("the grant's tokens are spent")
	ErrNotGranted = errors.New("not part of the grant")
	ErrSealed     = errors.New("the expansion is over")
)

// Allowance has the limits of a grant.
type Allowance struct {
	Conversations []store.ConversationID
	// Summaries may be opened, and so may everything beneath them.
	Summaries []store.SummaryID
	Messages  []store.MessageID
	// First are summaries that match the question: of what lies beneath the others they
	// are opened first.
	First []store.SummaryID
	// Tokens is how much text may be served in all, PageTokens how much in one
	// call, Depth how many steps below a summary one call may go (0: any).
	Tokens     int
	PageTokens int
	Depth      int
	Expires    time.Time
}

// Grant is the right of one child session to open a part of the record. It only
// shrinks: no method adds tokens, time or ids.
type Grant struct {
	allows  Allowance
	recall  Recall
	store   lookup.Store
	count   func(string) int
	clock   func() time.Time
	meter   *Meter
	marker  string
	revoked atomic.Bool // not under mu: ending a question waits for no call

	mu     sync.Mutex
	left   int
	sealed bool
	served servedTexts
	known  map[store.ID]bool // nodes that were looked up and are covered
}

// newGrant returns a grant on the store of c. The marker is a word that no stored text
// can know.
func newGrant(a Allowance, c Config, m *Meter, marker string) *Grant {
	return &Grant{
		allows: a, recall: c.Recall, store: c.Store, count: c.count, clock: c.Clock, meter: m, marker: marker, left: a.Tokens,
		served: servedTexts{byID: map[store.ID]*served{}}, known: map[store.ID]bool{},
	}
}

// Revoke ends the grant. A call that is under way still ends; every later one
// is refused.
func (g *Grant) Revoke() { g.revoked.Store(true) }

// usable refuses a call that comes too late or costs too much.
func (g *Grant) usable() error {
	switch {
	case g.revoked.Load():
		return fmt.Errorf("%w: the question is over and nothing more can be expanded", ErrRevoked)
	case g.sealed:
		return fmt.Errorf("%w: answer from what you have read, as the JSON object that was asked for", ErrSealed)
	case !g.allows.Expires.IsZero() && !g.clock().Before(g.allows.Expires):
		return fmt.Errorf("%w: answer now, from what you have read", ErrExpired)
	case g.left < minPage:
		g.served.cut = true
		return fmt.Errorf("%w: %d of %d are used. Answer from what you have read and set \"truncated\" to true",
			ErrSpent, g.allows.Tokens-g.left, g.allows.Tokens)
	case g.meter.room() < minPage:
		g.served.cut = true
		return fmt.Errorf("%w: what is left of the question's budget is needed to answer. Answer from what you have read and set \"truncated\" to true", ErrSpent)
	}
	return nil
}

// minPage is the smallest page in tokens: some words and the frame around them.
const minPage = 96

// allowConversation refuses a conversation outside the grant.
func (g *Grant) allowConversation(id store.ConversationID) error {
	if id == 0 || slices.Contains(g.allows.Conversations, id) {
		return nil
	}
	return fmt.Errorf("conversation %d is %w, which covers %s: leave conversationId out or use one of these", id, ErrNotGranted,
		recall.Scope{Kind: recall.ScopeConversation, ConversationIDs: g.allows.Conversations})
}

// maxHolders bounds how many messages of one file are looked at.
const maxHolders = 200

// allow refuses an id that the grant does not cover. Of a file it returns the covered
// message that the file belongs to.
func (g *Grant) allow(ctx context.Context, id store.ID) (holder store.MessageID, err error) {
	nodes := []store.ID{id}
	if id.Payload != "" {
		holders, err := g.store.Holders(ctx, id.Payload, g.allows.Conversations, maxHolders)
		if err != nil {
			return 0, err
		}
		nodes = nil
		for _, m := range holders {
			nodes = append(nodes, store.ID{Message: m})
		}
	}
	for _, n := range nodes {
		if ok, err := g.covers(ctx, n); err != nil || ok {
			return n.Message, err
		}
	}
	return 0, g.refuse(id)
}

// maxClimb bounds how far up a node is followed: no DAG is that deep.
const maxClimb = 64

// covers reports whether a node is granted or lies beneath a granted summary.
func (g *Grant) covers(ctx context.Context, n store.ID) (covered bool, err error) {
	err = climb(ctx, g.store, n, func(at store.ID, _ int) (bool, error) {
		covered = covered || g.known[at] || slices.Contains(g.allows.Summaries, at.Summary) || at.Message != 0 && slices.Contains(g.allows.Messages, at.Message)
		return !covered, nil
	})
	if covered {
		g.known[n] = true
	}
	return covered, err
}

// climb visits a node and the summaries above it, level by level, each once. It goes
// on above a node where visit returns true.
func climb(ctx context.Context, s lookup.Store, n store.ID, visit func(n store.ID, level int) (bool, error)) error {
	seen := map[store.ID]bool{n: true}
	for at, level := []store.ID{n}, 0; len(at) > 0 && level <= maxClimb; level++ {
		var up []store.ID
		for _, n := range at {
			if on, err := visit(n, level); err != nil {
				return err
			} else if !on {
				continue
			}
			derived, err := s.Derived(ctx, n)
			if err != nil {
				return err
			}
			for _, id := range derived {
				if above := (store.ID{Summary: id}); !seen[above] {
					seen[above] = true
					up = append(up, above)
				}
			}
		}
		at = up
	}
	return nil
}

func (g *Grant) refuse(id store.ID) error {
	var may []store.ID
	for _, s := range g.allows.Summaries {
		may = append(may, store.ID{Summary: s})
	}
	for _, m := range g.allows.Messages {
		may = append(may, store.ID{Message: m})
	}
	return fmt.Errorf("%s is %w; you may expand %s and what lies beneath them", id, ErrNotGranted, prose.Join(may, ", ", 12))
}
