package delegation

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// ledger records the texts that a grant has served: the only source of counts, totals and
// the check on citations.
type ledger struct {
	served map[string]*served
	order  []string
	tokens int
	cut    bool // the tokens ran out before the text did
	unread bool // the last page left something
}

// served is a message or summary that the sub-agent has read, or a part of it.
type served struct {
	node         store.Node
	conversation store.ConversationID
	role         llms.Role
	time         time.Time
	text         strings.Builder
	snippets     []string // what searches showed of it
	// beneath says that it was served as a source of a summary, not for its
	// own id.
	beneath bool
}

func (l *ledger) add(p recall.Piece, beneath bool) {
	id, err := store.ParseID(p.ID)
	if err != nil {
		return // recall names nothing else
	}
	s := l.entry(p, store.Node{Message: id.Message, Summary: id.Summary})
	s.read(p)
	s.beneath = s.beneath || beneath
}

// addFile notes a part of a file. What it says, its message says.
func (l *ledger) addFile(p recall.Piece, holder store.MessageID) {
	l.entry(p, store.Node{Message: holder}).read(p)
}

// addSnippet notes a passage that a search showed.
func (l *ledger) addSnippet(p recall.Piece, n store.Node) {
	s := l.entry(p, n)
	if !slices.Contains(s.snippets, p.Text) {
		s.snippets = append(s.snippets, p.Text)
	}
}

// entry returns the entry of a piece's id and charges the piece.
func (l *ledger) entry(p recall.Piece, n store.Node) *served {
	l.tokens += p.Tokens
	s, ok := l.served[p.ID]
	if !ok {
		s = &served{node: n, conversation: p.ConversationID, role: p.Role, time: p.CreatedAt}
		l.served[p.ID] = s
		l.order = append(l.order, p.ID)
	}
	return s
}

// read adds a piece that goes on where the text ends. A page that is read again
// adds nothing.
func (s *served) read(p recall.Piece) {
	if p.Offset == s.text.Len() {
		s.text.WriteString(p.Text)
	}
}

// passages are the texts that were shown of it.
func (s *served) passages() []string {
	if s.text.Len() > 0 {
		return append([]string{s.text.String()}, s.snippets...)
	}
	return s.snippets
}

// reading is the account of a ledger: which summaries were opened, and what
// was read beneath each. Only summaries that the grant covers are in it: a
// message may also lie beneath those of a fork, or beneath one that is above
// what was granted, which nobody has read.
type reading struct {
	*ledger
	opened []store.SummaryID             // in the order in which they were opened
	source map[store.SummaryID]*served   // the first source that was served of each
	read   map[store.SummaryID][]*served // messages beneath a summary
	above  map[store.Node][]store.SummaryID
	held   map[store.SummaryID]bool
}

// account looks up what the served nodes lie beneath. A summary counts as
// opened when a source of it was served.
func (g *Grant) account(ctx context.Context) (*reading, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &reading{
		ledger: &g.ledger, source: map[store.SummaryID]*served{}, read: map[store.SummaryID][]*served{}, above: map[store.Node][]store.SummaryID{}, held: map[store.SummaryID]bool{},
	}
	for _, id := range g.ledger.order {
		if err := r.climb(ctx, g, g.ledger.served[id]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// climb goes from a served node up to the summaries that were granted.
func (r *reading) climb(ctx context.Context, g *Grant, s *served) error {
	climbed := map[store.SummaryID]bool{}
	level := []store.Node{s.node}
	for depth := 0; len(level) > 0 && depth < maxClimb; depth++ {
		var up []store.Node
		for _, n := range level {
			above, err := r.parents(ctx, g, n)
			if err != nil {
				return err
			}
			for _, id := range above {
				if climbed[id] {
					continue
				}
				climbed[id] = true
				if depth == 0 && s.beneath && !slices.Contains(r.opened, id) {
					r.opened = append(r.opened, id)
					r.source[id] = s
				}
				if !s.node.IsSummary() {
					r.read[id] = append(r.read[id], s)
				}
				up = append(up, store.Node{Summary: id})
			}
		}
		level = up
	}
	return nil
}

// parents returns the summaries made from a node that the grant covers.
func (r *reading) parents(ctx context.Context, g *Grant, n store.Node) ([]store.SummaryID, error) {
	if above, ok := r.above[n]; ok {
		return above, nil
	}
	derived, err := g.store.Derived(ctx, n)
	if err != nil {
		return nil, err
	}
	var covered []store.SummaryID
	for _, id := range derived {
		held, known := r.held[id]
		if !known {
			if held, err = g.holds(ctx, store.Node{Summary: id}); err != nil {
				return nil, err
			}
			r.held[id] = held
		}
		if held {
			covered = append(covered, id)
		}
	}
	r.above[n] = covered
	return covered, nil
}
