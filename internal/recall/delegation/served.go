package delegation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/recall/support"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// servedTexts records the texts that a grant has served. Counts, totals and the check
// of citations use nothing else.
type servedTexts struct {
	byID   map[store.ID]*served
	order  []store.ID
	cut    bool   // the tokens ran out before the text did
	unread bool   // the last page left something
	facts  string // about what was described, which are no words of the record
}

// served is a message or summary that the sub-agent has read, or a part of it.
type served struct {
	node         store.ID
	conversation store.ConversationID
	role         llms.Role
	time         time.Time
	text         strings.Builder
	snippets     []string // passages of it that searches showed
}

// add notes a message or summary.
func (s *servedTexts) add(p recall.Piece, n store.ID) { s.entry(p, n).read(p) }

// addSnippet notes a passage that a search showed.
func (s *servedTexts) addSnippet(p recall.Piece, n store.ID) {
	e := s.entry(p, n)
	e.snippets = include(e.snippets, p.Text)
}

// entry returns the entry of a piece's id.
func (s *servedTexts) entry(p recall.Piece, n store.ID) *served {
	e, ok := s.byID[p.ID]
	if !ok {
		e = &served{node: n, conversation: p.ConversationID, role: p.Role, time: p.CreatedAt}
		s.byID[p.ID] = e
		s.order = append(s.order, p.ID)
	}
	return e
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

// reading says which summaries were opened, and which messages beneath each were read.
// It has only summaries that the grant covers: a message may also lie beneath those of
// a fork, or beneath one above the granted ones, which nobody has read.
type reading struct {
	*servedTexts
	opened []store.SummaryID             // in the order in which they were opened
	source map[store.SummaryID]*served   // the first source that was served of each
	read   map[store.SummaryID][]*served // messages beneath a summary
}

// account looks up the summaries above the served nodes. A summary counts as opened
// when text of a source of it was served, also for the source's own id. A passage that a
// search showed opens nothing.
func (g *Grant) account(ctx context.Context) (*reading, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &reading{servedTexts: &g.served, source: map[store.SummaryID]*served{}, read: map[store.SummaryID][]*served{}}
	for _, id := range g.served.order {
		if err := r.climb(ctx, g, g.served.byID[id]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// check returns the identifiers, names and numbers of an answer that stand neither in the
// served texts nor in the question, and how many stand in the texts.
func (r *reading) check(answer string, q request) (missing []string, held int) {
	var known support.Text
	known.Add(r.facts)
	for _, id := range r.order {
		s := r.byID[id]
		for _, text := range s.passages() {
			known.Add(fmt.Sprintf("%s %s %s", s.time.UTC().Format("2006-01-02 15:04"), id, text))
		}
	}
	return known.Check(answer, q.Prompt+"\n"+q.Query)
}

// climb goes from a served node up to the summaries that were granted.
func (r *reading) climb(ctx context.Context, g *Grant, s *served) error {
	return climb(ctx, g.store, s.node, func(n store.ID, level int) (bool, error) {
		if level == 0 {
			return true, nil
		}
		if ok, err := g.covers(ctx, n); err != nil || !ok {
			return false, err
		}
		if level == 1 && s.text.Len() > 0 && !slices.Contains(r.opened, n.Summary) {
			r.opened = append(r.opened, n.Summary)
			r.source[n.Summary] = s
		}
		if !s.node.IsSummary() {
			r.read[n.Summary] = append(r.read[n.Summary], s)
		}
		return true, nil
	})
}
