package delegation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/recall"
)

// maxText bounds how much of one message is looked through.
const maxText = 4 << 20

// Shares of the best score: a message below relevant is not shown, and a match
// of citable or more is cited.
const (
	relevant = 0.34
	citable  = 0.7
)

// fewPassages is how many passages are shown beside words that no text has: they have only the
// other words of the question. Without a name among those it may tell in other words what the
// record tells in its own, and twice as many are shown.
func fewPassages(absent []string) int {
	if strings.ContainsFunc(strings.Join(absent, ""), unicode.IsUpper) {
		return lookup.WithOtherWords
	}
	return 2 * lookup.WithOtherWords
}

// leastResult is the smallest bound on a whole result: the fields beside the
// answer alone take about a hundred tokens.
const leastResult = 250

// evidence answers with verbatim passages: the messages that search ranks best for the
// question, of long ones the best part, until relevance or room ends. The bound holds for
// the result as JSON, citations included.
func (d *Delegator) evidence(ctx context.Context, r request, p *plan, why string) (recall.Answer, error) {
	all, err := d.rank(ctx, r, p)
	if err != nil {
		return recall.Answer{}, err
	}
	if len(all) == 0 {
		if failure, ok := strings.CutSuffix(why, instead); ok {
			return unanswered(r, p, failure), nil
		}
		a := nothing(r, p)
		if why != "" {
			note(&a, "%s", why)
		}
		return a, nil
	}
	e := &extract{Delegator: d, read: r.read, most: r.text, bound: max(r.MaxTokens, leastResult), titles: map[store.ConversationID]string{}, shown: map[store.MessageID]bool{}, texts: map[string]bool{}}
	for _, id := range p.scope.Except {
		e.shown[id] = true // the question itself
	}
	e.frame = recall.Answer{Method: recall.MethodEvidence, Reason: why, Scope: p.scope, Notes: p.notes, Usage: r.used, NotInRecord: p.absent}
	e.home = r.Projects
	e.literal = regexp.MustCompile(`(?i)` + regexp.QuoteMeta(strings.ToValidUTF8(r.Query, "\uFFFD")))
	for _, words := range []string{r.Query, r.Prompt} {
		if q, err := search.ParseQuery(asWords(words)); err == nil { // else it has no words, or too many
			e.queries = append(e.queries, q)
		}
	}
	if err := e.choose(ctx, all); err != nil {
		return recall.Answer{}, err
	}
	if p.within == nil && matched(all) && len(p.absent) == 0 { // else the next messages lie outside of the summaries, or follow no match
		if err := e.follow(ctx); err != nil {
			return recall.Answer{}, err
		}
	}
	if len(e.passages) > 0 && p.within == nil && len(p.absent) == 0 && matched(all) {
		if err := e.addLater(ctx, p, all, cmp.Or(r.Query, r.Prompt)); err != nil {
			return recall.Answer{}, err
		}
	}
	a, shown := e.fit()
	a.ExpandedSummaryCount, err = d.expanded(ctx, shown, p)
	return a, err
}

// passage is a message, or the best part of one.
type passage struct {
	msg   store.Message
	text  string
	whole bool
	quote string // a short part of text
	match bool   // else it stands around one
	cited bool   // with a quote
	// earlier labels an answer that was given from the record.
	earlier string
}

// extract chooses passages under a bound.
type extract struct {
	*Delegator
	literal  *regexp.Regexp  // the query as it was typed
	queries  []*search.Query // the query and the prompt, which select the part of a long message
	most     int             // tokens of the answer's text
	bound    int             // tokens of the whole result
	frame    recall.Answer   // the result without passages
	read     int             // tokens
	full     bool            // a relevant message has no room
	left     int             // matches that would be cited and have no room
	passages []passage
	said     []recall.Turn                   // what the user said about it
	later    string                          // said as a text, which stands after the first passage
	shown    map[store.MessageID]bool        // the messages of passages, and those that are left out
	texts    map[string]bool                 // of passages: a command that was run three times is shown once
	home     []store.Project                 // that the question is asked in
	titles   map[store.ConversationID]string // of the conversations with passages
}

// choose takes candidates in order while they are relevant and fit.
func (e *extract) choose(ctx context.Context, all []candidate) error {
	only := !matched(all)
	for rank, c := range all {
		if c.score < relevant*all[0].score || len(e.frame.NotInRecord) > 0 && len(e.passages) == fewPassages(e.frame.NotInRecord) {
			break
		}
		strong := c.score >= citable*all[0].score
		if !e.full {
			ok, err := e.add(ctx, c, rank, c.match || only, strong)
			if err != nil {
				return err
			}
			e.full = !ok
		}
		if e.full && strong && c.match {
			e.left++
		}
	}
	return nil
}

// matched reports that a candidate has words that were searched for.
func matched(all []candidate) bool {
	return slices.ContainsFunc(all, func(c candidate) bool { return c.match })
}

// add takes a message if there is room for it.
func (e *extract) add(ctx context.Context, c candidate, rank int, match, strong bool) (bool, error) {
	m := c.msg
	if e.shown[m.ID] {
		return true, nil
	}
	text, err := e.textOf(ctx, &m)
	if err != nil {
		return false, err
	}
	e.read += e.count(text)
	p := passage{msg: m, earlier: c.earlier, match: match, cited: match && strong && e.cited() < maxCitations}
	e.cut(&p, text, e.share(m, rank))
	said := strings.Join(strings.Fields(p.text), " ")
	if said == "" || e.texts[said] {
		return true, nil // says nothing new: no reason to give up
	}
	if err := e.title(ctx, m.Conversation); err != nil {
		return false, err
	}
	if len(e.passages) == 0 { // there is always one, under the smallest bound too
		for room := e.bound / 2; !e.fits([]passage{p}) && room > 4; room = room * 3 / 4 {
			e.cut(&p, text, room)
		}
	} else if !e.fits(append(slices.Clip(e.passages), p)) {
		return false, nil
	}
	e.passages = append(e.passages, p)
	e.shown[m.ID], e.texts[said] = true, true
	return true, nil
}

// cut sets the text of a passage, within a number of tokens.
func (e *extract) cut(p *passage, text string, room int) {
	p.text, p.whole = e.part(text, room)
	p.quote = e.excerpt(p.text, evidenceQuote)
	if prose := p.msg.Body.PlainText(); !p.whole && len(p.msg.Body.ToolCalls()) > 0 && !strings.Contains(p.text, prose) {
		// The prose before a call is about it; the arguments of the call have more of
		// the question's words by their length alone.
		said, _ := e.part(prose, room)
		p.text = said + "\n[…] " + p.text
	}
}

// evidenceQuote is about how many bytes the quote of a citation has: the
// answer has the whole passage.
const evidenceQuote = 60

// textOf is everything that a message says, payloads included. It marks a message with a
// damaged payload.
func (e *extract) textOf(ctx context.Context, m *store.Message) (string, error) {
	if m.Damaged {
		return m.Body.Render(), nil // which says so
	}
	if plain := m.Body.PlainText(); len(m.Body.Parts) == 1 && plain != "" {
		return plain, nil
	}
	b, err := e.config.Store.Text(ctx, store.ID{Message: m.ID})
	if errors.Is(err, store.ErrDamaged) { // a payload of it
		m.Damaged, err = true, nil
	}
	if err != nil {
		return "", err
	}
	text := string(b[:min(len(b), maxText)])
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

// share is how much room a message gets: the first more than the others, and
// spoken messages more than the output of tools.
func (e *extract) share(m store.Message, rank int) int {
	parts := 13
	switch {
	case rank == 0:
		parts = 3
	case rank < 3:
		parts = 8
	}
	switch {
	case len(m.Body.ToolCalls()) > 0:
		parts *= 2
	case !spoken(m):
		parts *= 3
	}
	return max(e.most/parts, 40)
}

// part returns a text if it is short, else the part of it that is most about
// the question.
func (e *extract) part(text string, room int) (string, bool) {
	if len(text) <= room || e.count(text) <= room {
		return strings.TrimSpace(text), true
	}
	width := room * 3
	best := e.excerpt(text, width)
	for n := e.count(best); n > room && width > 8; n = e.count(best) {
		width = min(width-1, len(best)*room/n) // a narrower part, not a cut one: the middle counts
		best = e.excerpt(text, width)
	}
	return best, false
}

// excerpt returns the part of a text with most words of the query, else of the
// prompt. Where the text has the query as it was typed, the part has it too.
func (e *extract) excerpt(text string, width int) string {
	part := words(text, 0, width)
	for _, q := range e.queries {
		if best, n := excerpt(q, text, width); n > 0 {
			part = best
			break
		}
	}
	if at := e.literal.FindStringIndex(text); at != nil && !e.literal.MatchString(part) {
		start := max(0, at[0]-max(0, width-(at[1]-at[0]))/4)
		start = max(0, min(start, len(text)-width))
		part = words(text, start, start+width)
	}
	return part
}

// fit writes the result with as many passages as the bound allows, and returns
// those.
func (e *extract) fit() (recall.Answer, []passage) {
	shown := e.passages
	for len(shown) > 1 && !e.fits(shown) { // what the user said takes the room of the last ones
		shown = shown[:len(shown)-1]
	}
	a := e.answer(shown)
	if len(shown) == 1 && e.encoded(a) > e.bound { // a long reason
		a.Reason, a.Notes = prose.Clip(a.Reason, 80), nil
	}
	return a, shown
}

func (e *extract) fits(shown []passage) bool {
	a := e.answer(shown)
	return e.count(a.Answer) <= e.most && e.encoded(a) <= e.bound
}

func (e *extract) cited() (n int) {
	for _, p := range e.passages {
		if p.cited {
			n++
		}
	}
	return n
}

// encoded counts the tokens of a value as JSON.
func (e *extract) encoded(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		return 0 // answers and citations are plain data
	}
	return e.count(string(raw))
}

// answer writes the result with these passages, the best first.
func (e *extract) answer(shown []passage) recall.Answer {
	a := e.frame
	a.Notes = slices.Clone(a.Notes)
	a.Answer = write(shown, e.titles)
	if e.later != "" && len(shown) > 0 {
		a.Answer = strings.TrimSuffix(write(shown[:1], e.titles)+"\n"+e.later+"\n"+write(shown[1:], e.titles), "\n")
	}
	a.CitedIDs, a.Citations = []store.ID{}, []recall.Citation{}
	// Dates, names and ids of the record are printed too.
	a.TotalSourceTokens = max(e.read, e.count(a.Answer))
	left, cut := e.left, e.full || len(shown) < len(e.passages)
	for _, p := range e.passages[min(len(shown), len(e.passages)):] {
		if p.cited {
			left++
		}
	}
	for _, p := range shown {
		addSource(&a, p.msg.Conversation)
		a.Damaged = a.Damaged || p.msg.Damaged || strings.HasPrefix(e.titles[p.msg.Conversation], damagedRow)
		a.CitedIDs = append(a.CitedIDs, store.ID{Message: p.msg.ID})
		if p.cited {
			a.Citations = append(a.Citations, citation(p))
		}
		cut = cut || !p.whole
	}
	for _, t := range e.said {
		for _, n := range []*recall.Neighbour{&t.Prompt, t.Reply} {
			if n != nil {
				a.CitedIDs = include(a.CitedIDs, store.ID{Message: n.ID})
				cut = cut || n.Truncated
			}
		}
	}
	if len(shown) > 0 {
		a.SourceConversationID = a.SourceConversationIDs[0]
	}
	setCut(&a, cut, false)
	if left > 0 {
		note(&a, "%s about the question: narrow it, or ask with a larger maxTokens", prose.Plural(left, "more message is", "more messages are"))
	}
	return a
}

// citation names a passage. The answer says who spoke and when.
func citation(p passage) recall.Citation {
	return recall.Citation{ID: store.ID{Message: p.msg.ID}, Quote: p.quote, ConversationID: p.msg.Conversation}
}

// expanded counts the summaries that were opened for these passages: those
// that the question names, and those that matched where no message did.
func (d *Delegator) expanded(ctx context.Context, shown []passage, p *plan) (int, error) {
	n := 0
	for _, id := range p.opened {
		for _, s := range shown {
			ok, err := beneath(ctx, d.config.Store, store.ID{Message: s.msg.ID}, []store.SummaryID{id})
			if err != nil {
				return 0, err
			}
			if ok {
				n++
				break
			}
		}
	}
	return n, nil
}
