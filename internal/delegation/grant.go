package delegation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// Why a grant refuses a call. The texts around them tell the sub-agent what to
// do instead.
var (
	ErrRevoked    = errors.New("the grant was revoked")
	ErrExpired    = errors.New("the grant has expired")
	ErrSpent      = errors.New("the grant's tokens are spent")
	ErrNotGranted = errors.New("not part of the grant")
	ErrSealed     = errors.New("the expansion is over")
)

// Allowance has the limits of a grant.
type Allowance struct {
	// Session is the child session that the grant is bound to.
	Session       string
	Conversations []store.ConversationID
	// Summaries may be opened, and so may everything beneath them.
	Summaries []store.SummaryID
	Messages  []store.MessageID
	// Tokens is how much text may be served in all, PageTokens how much in one
	// call, Depth how many steps below a summary one call may go (0: any).
	Tokens     int
	PageTokens int
	Depth      int
	Expires    time.Time
}

// Grant is the right to open a part of the record. It only shrinks: there is
// no method that adds tokens, time or ids.
type Grant struct {
	allows  Allowance
	recall  Recall
	store   recall.Store
	counter llms.Counter
	clock   func() time.Time
	meter   *Meter
	marker  string
	revoked atomic.Bool // not under mu: ending a question waits for no call

	mu      sync.Mutex
	left    int
	sealed  bool
	ledger  ledger
	beneath map[store.SummaryID]bool // looked up already
}

// newGrant returns a grant on what c works on. The marker is a word that no
// stored text can know.
func newGrant(a Allowance, c Config, m *Meter, marker string) *Grant {
	return &Grant{
		allows: a, recall: c.Recall, store: c.Store, counter: c.Counter, clock: c.Clock, meter: m, marker: marker, left: a.Tokens,
		ledger: ledger{served: map[string]*served{}}, beneath: map[store.SummaryID]bool{},
	}
}

// Session returns the key of the child session that the grant is bound to.
func (g *Grant) Session() string { return g.allows.Session }

// Left returns how many tokens may still be served.
func (g *Grant) Left() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.left
}

// Revoke ends the grant. A call that is under way still ends; every later one
// is refused.
func (g *Grant) Revoke() { g.revoked.Store(true) }

// seal ends the expansion while the sub-agent may still speak.
func (g *Grant) seal() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sealed = true
}

// hasServed reports whether anything was read.
func (g *Grant) hasServed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.ledger.order) > 0
}

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
		g.ledger.cut = true
		return fmt.Errorf("%w: %d of %d are used. Answer from what you have read and set \"truncated\" to true",
			ErrSpent, g.allows.Tokens-g.left, g.allows.Tokens)
	case g.meter.room() < minPage:
		g.ledger.cut = true
		return fmt.Errorf("%w: what is left of the question's budget is needed to answer. Answer from what you have read and set \"truncated\" to true", ErrSpent)
	}
	return nil
}

// minPage is the least that is worth a page: some words and the frame around
// them.
const minPage = 96

// allowConversation refuses a conversation outside the grant.
func (g *Grant) allowConversation(id store.ConversationID) error {
	if id == 0 || slices.Contains(g.allows.Conversations, id) {
		return nil
	}
	return fmt.Errorf("conversation %d is %w, which covers %s: leave conversationId out or use one of these", id, ErrNotGranted,
		recall.Scope{Kind: recall.ScopeConversation, ConversationIDs: g.allows.Conversations})
}

// allowSummary refuses a summary that is neither granted nor beneath one that
// is.
func (g *Grant) allowSummary(ctx context.Context, id store.SummaryID) error {
	ok, err := g.holds(ctx, store.Node{Summary: id})
	if err != nil || ok {
		return err
	}
	return g.refuseID(string(id))
}

func (g *Grant) allowMessage(ctx context.Context, id store.MessageID) error {
	ok, err := g.covers(ctx, id)
	if err != nil || ok {
		return err
	}
	return g.refuseID(id.String())
}

// covers reports whether a message is granted itself or lies beneath a granted
// summary.
func (g *Grant) covers(ctx context.Context, id store.MessageID) (bool, error) {
	if slices.Contains(g.allows.Messages, id) {
		return true, nil
	}
	return g.holds(ctx, store.Node{Message: id})
}

// maxHolders bounds how many messages of one file are looked at.
const maxHolders = 200

// allowFile refuses a file unless it belongs to a message that may be read. It
// returns that message.
func (g *Grant) allowFile(ctx context.Context, id store.PayloadID) (store.MessageID, error) {
	holders, err := g.store.Holders(ctx, id, g.allows.Conversations, maxHolders)
	if err != nil {
		return 0, err
	}
	for _, m := range holders {
		ok, err := g.covers(ctx, m)
		if err != nil || ok {
			return m, err
		}
	}
	return 0, g.refuseID(string(id))
}

// maxClimb bounds how far up a node is followed: no DAG is that deep.
const maxClimb = 64

// holds reports whether a node is a granted summary or lies beneath one.
func (g *Grant) holds(ctx context.Context, n store.Node) (bool, error) {
	level := []store.Node{n}
	for range maxClimb {
		var up []store.Node
		for _, at := range level {
			if at.IsSummary() && (g.beneath[at.Summary] || slices.Contains(g.allows.Summaries, at.Summary)) {
				g.beneath[at.Summary] = true
				if n.IsSummary() {
					g.beneath[n.Summary] = true
				}
				return true, nil
			}
			derived, err := g.store.Derived(ctx, at)
			if err != nil {
				return false, err
			}
			for _, id := range derived {
				up = append(up, store.Node{Summary: id})
			}
		}
		if len(up) == 0 {
			return false, nil
		}
		level = up
	}
	return false, nil
}

func (g *Grant) refuseID(id string) error {
	var may []string
	for _, s := range g.allows.Summaries {
		may = append(may, string(s))
	}
	for _, m := range g.allows.Messages {
		may = append(may, m.String())
	}
	const most = 12
	if len(may) > most {
		may = append(may[:most], "…")
	}
	return fmt.Errorf("%s is %w; you may expand %s and what lies beneath them", id, ErrNotGranted, strings.Join(may, ", "))
}
