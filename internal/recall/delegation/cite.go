package delegation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/recall"
)

const (
	quoteBytes = 200 // about how long a quote is
	// maxCitations bounds the citations of an answer: a sub-agent that cites
	// everything would fill the caller's context with ids.
	maxCitations = 16
	// maxUnsupported is how many things of an answer are named that nothing supports.
	maxUnsupported = 8
)

// verified turns a sub-agent's reply into an answer. What was read comes from the served
// texts; a citation of a text that was not served is dropped, and the answer says so.
func (d *Delegator) verified(r request, g *Grant, said reply) recall.Answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	read := &g.served
	a := recall.Answer{CitedIDs: []store.ID{}, Citations: []recall.Citation{}, ExpandedSummaryCount: len(read.opened())}
	text, cut := shorten(d.count, strings.TrimSpace(said.Answer), r.MaxTokens)
	a.Answer = text
	setCut(&a, cut || said.BrokeOff, read.cut || said.Truncated)
	if said.BrokeOff {
		note(&a, "the sub-agent's reply broke off: ask for less, or with a larger maxTokens")
	}
	if said.Truncated && !read.cut {
		note(&a, "the sub-agent says that its answer is not complete")
	}
	if read.unread && !read.cut {
		note(&a, "the sub-agent answered before it had read everything that it could")
	}
	if len(said.Missing) > 0 {
		note(&a, "unsupported: %s", prose.Clip(prose.Join(said.Missing, ", ", maxUnsupported), 200))
	}
	cite(&a, read, said.CitedIDs)
	if len(a.CitedIDs) == 0 {
		note(&a, "nothing supports the answer: the sub-agent read %s and cites nothing", prose.Plural(len(read.order), "text", "texts"))
	}
	d.quote(&a, read, r)
	a.SourceConversationIDs = read.conversations(a.Citations, g.allows.Conversations[0])
	a.SourceConversationID = a.SourceConversationIDs[0]
	return a
}

// cite takes over the citations of a sub-agent that name served texts.
func cite(a *recall.Answer, read *servedTexts, claimed []string) {
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
		note(a, "%d of the sub-agent's citations were dropped: they name nothing that it had read", dropped)
	}
	if more > 0 {
		note(a, "%d more citations are left out: %d are listed at most", more, maxCitations)
	}
}

// cite looks a claimed citation up in the served texts.
func (r *servedTexts) cite(text string) (recall.Citation, bool) {
	id, err := store.ParseID(text)
	if err != nil {
		return recall.Citation{}, false
	}
	c := recall.Citation{ID: id}
	if s, ok := r.byID[c.ID]; ok {
		c.ConversationID, c.Role, c.CreatedAt = s.conversation, s.role, s.time
		return c, true
	}
	if all := r.beneath(id.Summary); len(all) > 0 {
		c.ConversationID = all[0].conversation
		return c, true
	}
	return recall.Citation{}, false
}

// quote gives each citation a short verbatim passage, as long as the cap on
// the answer has room for it.
func (d *Delegator) quote(a *recall.Answer, read *servedTexts, r request) {
	q, err := search.ParseQuery(a.Answer + " " + r.Prompt)
	if err != nil {
		q = nil // no words: quotes are how the messages begin
	}
	left := r.MaxTokens - d.count(a.Answer)
	quoted := map[store.ID]bool{} // a message and a summary above it are often cited together
	for i := range a.Citations {
		c := &a.Citations[i]
		s, text := read.passage(c.ID, q)
		if s == nil {
			continue
		}
		if !s.node.IsSummary() {
			c.MessageID, c.Role, c.CreatedAt = s.node.Message, s.role, s.time
		}
		source := c.Source()
		room := len(a.CitedIDs) < maxCitations || slices.Contains(a.CitedIDs, source)
		if cost := d.count(text); cost <= left && room && !quoted[source] {
			c.Quote, quoted[source] = text, true
			left -= cost
			a.CitedIDs = include(a.CitedIDs, source)
		}
	}
}

// passage chooses the quotation for a cited id: of a message its best part, of
// a summary the best part of a message that was read beneath it, else of
// itself or of a summary that it was made from.
func (r *servedTexts) passage(id store.ID, q *search.Query) (*served, string) {
	from := r.beneath(id.Summary)
	if s, ok := r.byID[id]; ok && (len(from) == 0 || from[0].node.IsSummary()) {
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
		return words(text, 0, width), 0
	}
	e := q.Excerpt([]byte(text), width)
	n := 0
	for _, r := range e.Ranges {
		n += r[1] - r[0]
	}
	return words(text, e.Start, e.End), n
}

// conversations lists where the citations come from, the most cited first;
// without citations, where it was read.
func (r *servedTexts) conversations(cited []recall.Citation, other store.ConversationID) []store.ConversationID {
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
			add(r.byID[id].conversation)
		}
	}
	if len(ids) == 0 {
		add(other)
	}
	slices.SortStableFunc(ids, func(x, y store.ConversationID) int { return counts[y] - counts[x] })
	return ids
}

// merge puts the answers of several sub-agents together: each under a heading
// that names its conversation, the best conversation first. One answer is
// returned as it is; without any, the error is that of the best.
func merge(outcomes []outcome, asked []*bucket, r request, count func(string) int) (recall.Answer, error) {
	if len(outcomes) == 1 {
		return outcomes[0].Answer, outcomes[0].err
	}
	merged := recall.Answer{CitedIDs: []store.ID{}, Citations: []recall.Citation{}}
	var text strings.Builder
	var short, starved bool
	for i, o := range outcomes {
		id := asked[i].Conversations[0]
		merged.Usage = addUsage(merged.Usage, o.Usage)
		merged.TotalSourceTokens += o.TotalSourceTokens
		if o.err != nil {
			note(&merged, "conversation %d was not answered: %s", id, prose.Clip(o.err.Error(), 200))
			continue
		}
		if text.Len() > 0 {
			text.WriteString("\n\n")
		}
		fmt.Fprintf(&text, "%s%s", heading(id), forgedHeading().ReplaceAllString(o.Answer.Answer, "$1| $2"))
		join(&merged, o.Answer, id)
		short = short || cutBy(o.Answer, cutMaxTokens)
		starved = starved || cutBy(o.Answer, cutExpansion)
	}
	if text.Len() == 0 {
		return merged, outcomes[0].err
	}
	whole, cut := shorten(count, text.String(), r.MaxTokens)
	merged.Answer = whole
	setCut(&merged, cut || short, starved)
	left := r.MaxTokens - count(whole)
	for i := range merged.Citations {
		c := &merged.Citations[i]
		if cost := count(c.Quote); cost <= left {
			left -= cost
		} else {
			c.Quote = ""
		}
	}
	merged.SourceConversationID = merged.SourceConversationIDs[0]
	if len(merged.Citations) > 0 { // one that found nothing is not the source
		merged.SourceConversationID = merged.Citations[0].ConversationID
	}
	return merged, nil
}

// heading introduces the answer of one conversation.
func heading(id store.ConversationID) string { return fmt.Sprintf("Conversation %d: ", id) }

// forgedHeading finds lines inside an answer that look like the heading of
// another one: a sub-agent speaks for the conversation that it has read.
var forgedHeading = lazyregexp.New(newLine + `(Conversation \d+:)`)

// shares divides the cap on an answer among those that are asked, with room
// for the headings.
func shares(asked []*bucket, most int, count func(string) int) int {
	if len(asked) < 2 {
		return most
	}
	for _, b := range asked {
		most -= count("\n\n"+heading(b.Conversations[0])) + 1
	}
	return max(recall.MinMaxTokens, most/len(asked))
}

// join adds the sources of the answer of a conversation, and its notes.
func join(a *recall.Answer, b recall.Answer, id store.ConversationID) {
	for _, c := range b.Citations {
		if !slices.Contains(a.CitedIDs, c.ID) {
			a.CitedIDs = append(a.CitedIDs, c.ID)
			a.Citations = append(a.Citations, c)
		}
	}
	for _, id := range b.CitedIDs { // the quoted messages too
		a.CitedIDs = include(a.CitedIDs, id)
	}
	for _, id := range b.SourceConversationIDs {
		addSource(a, id)
	}
	a.ExpandedSummaryCount += b.ExpandedSummaryCount
	for _, n := range b.Notes {
		note(a, "%s%s", strings.ToLower(heading(id)), n)
	}
}

func addSource(a *recall.Answer, id store.ConversationID) {
	a.SourceConversationIDs = include(a.SourceConversationIDs, id)
}
