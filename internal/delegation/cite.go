package delegation

import (
	"context"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/store"
)

const (
	quoteBytes = 200 // about how long a quote is
	// maxCitations bounds what an answer lists: a sub-agent that cites
	// everything it read would fill the caller's context with ids.
	maxCitations = 16
)

// verified turns a sub-agent's reply into an answer. All numbers are the
// ledger's; a citation that the ledger does not know is dropped, and the
// answer says so.
func (d *Service) verified(ctx context.Context, r Request, b *bucket, g *Grant, said reply) (Answer, error) {
	read, err := g.account(ctx)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{
		CitedIDs: []string{}, Citations: []Citation{},
		ExpandedSummaryCount: len(read.opened), TotalSourceTokens: read.tokens,
	}
	text, cut := shorten(d.count, strings.TrimSpace(said.Answer), r.MaxTokens)
	a.Answer = text
	a.cut(cut || said.BrokeOff, read.cut || said.Truncated)
	if said.BrokeOff {
		a.note("the sub-agent's reply broke off: ask for less, or with a larger maxTokens")
	}
	if said.Truncated && !read.cut {
		a.note("the sub-agent says that its answer is not complete")
	}
	if read.unread && !read.cut {
		a.note("the sub-agent answered before it had read everything that it could")
	}
	a.cite(read, said.CitedIDs)
	d.quote(&a, read, r)
	a.SourceConversationIDs = read.conversations(a.Citations, b)
	a.SourceConversationID = a.SourceConversationIDs[0]
	return a, nil
}

// cite takes over the citations of a sub-agent that the ledger confirms.
func (a *Answer) cite(read *reading, claimed []string) {
	dropped, more := 0, 0
	for _, id := range claimed {
		c, ok := read.cite(id)
		switch {
		case !ok:
			dropped++
		case slices.Contains(a.CitedIDs, c.ID):
		case len(a.CitedIDs) == maxCitations:
			more++
		default:
			a.CitedIDs = append(a.CitedIDs, c.ID)
			a.Citations = append(a.Citations, c)
		}
	}
	if dropped > 0 {
		a.note("%d of the sub-agent's citations were dropped: they name nothing that it had read", dropped)
	}
	if more > 0 {
		a.note("%d more citations are left out: %d are listed at most", more, maxCitations)
	}
}

// cite looks a claimed citation up in the ledger.
func (r *reading) cite(text string) (Citation, bool) {
	id, err := store.ParseID(text)
	if err != nil {
		return Citation{}, false
	}
	n := store.Node{Message: id.Message, Summary: id.Summary}
	name := string(id.Payload)
	if name == "" {
		name = n.String()
	}
	if s, ok := r.served[name]; ok {
		return Citation{ID: name, ConversationID: s.conversation, Role: s.role, CreatedAt: s.time}, true
	}
	if n.IsSummary() && len(r.read[n.Summary]) > 0 {
		return Citation{ID: n.String(), ConversationID: r.read[n.Summary][0].conversation}, true
	}
	if s := r.source[n.Summary]; n.IsSummary() && s != nil {
		return Citation{ID: n.String(), ConversationID: s.conversation}, true
	}
	return Citation{}, false
}

// quote gives each citation a short verbatim passage, as long as the cap on
// the answer has room for it.
func (d *Service) quote(a *Answer, read *reading, r Request) {
	q, err := search.ParseQuery(a.Answer + " " + r.Prompt)
	if err != nil {
		q = nil // no words: quotes are how the messages begin
	}
	left := r.MaxTokens - d.count(a.Answer)
	for i := range a.Citations {
		c := &a.Citations[i]
		s, text := read.passage(c.ID, q)
		if s == nil {
			continue
		}
		if !s.node.IsSummary() {
			c.MessageID, c.Role, c.CreatedAt = s.node.String(), s.role, s.time
		}
		if cost := d.count(text); cost <= left {
			c.Quote = text
			left -= cost
		}
	}
}

// passage chooses the quotation for a cited id: of a message its best part, of
// a summary the best part of a message that was read beneath it, else of
// itself or of a summary that it was made from.
func (r *reading) passage(id string, q *search.Query) (*served, string) {
	var from []*served
	parsed, _ := store.ParseID(id)
	if parsed.Summary != "" {
		from = r.read[parsed.Summary]
	}
	if s, ok := r.served[id]; ok && len(from) == 0 {
		from = []*served{s}
	}
	if s := r.source[parsed.Summary]; s != nil && len(from) == 0 {
		from = []*served{s}
	}
	var best *served
	var text string
	score := -1
	for _, s := range from {
		for _, shown := range s.passages() {
			if part, n := excerpt(q, shown, quoteBytes); n > score {
				best, text, score = s, part, n
			}
		}
	}
	return best, text
}

// excerpt returns the part of a text that holds most of a query's words, and
// how many bytes of them it holds.
func excerpt(q *search.Query, text string, width int) (string, int) {
	if q == nil {
		return text[:floor(text, width)], 0
	}
	e := q.Excerpt([]byte(text), width)
	n := 0
	for _, r := range e.Ranges {
		n += r[1] - r[0]
	}
	return strings.TrimSpace(text[e.Start:e.End]), n
}

// conversations lists where the citations come from, the most cited first;
// without citations, where it was read.
func (r *reading) conversations(cited []Citation, b *bucket) []store.ConversationID {
	counts := map[store.ConversationID]int{}
	var ids []store.ConversationID
	add := func(id store.ConversationID) {
		if counts[id] == 0 {
			ids = append(ids, id)
		}
		counts[id]++
	}
	for _, c := range cited {
		add(c.ConversationID)
	}
	if len(ids) == 0 {
		for _, id := range r.order {
			add(r.served[id].conversation)
		}
	}
	if len(ids) == 0 {
		add(b.conversations[0])
	}
	slices.SortStableFunc(ids, func(x, y store.ConversationID) int { return counts[y] - counts[x] })
	return ids
}
