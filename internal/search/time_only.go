package search

import (
	"cmp"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/search/analysis"
	"github.com/lossless-context/lcm/internal/search/dates"
)

// takeDates reads the times that the query names. Their words alone make no match of
// a text: "last week" asks for the messages of that week, not for those that say "last"
// or "week". They still count in a text that matches by another word: without that,
// r@10 of LoCoMo fell by 0.005. It reports that no other words are left.
func (p *search) takeDates(now time.Time) (timeOnly bool) {
	if p.query.strict() {
		p.spans = dates.Find(p.query.text, now)
		return false
	}
	spans, rest := dates.Cut(p.query.text, now)
	p.spans = spans
	if len(spans) == 0 || rest == p.query.text {
		return false
	}
	q, err := ParseQuery(rest)
	clauses := splitClauses(rest)
	if stop, _ := stopsOf(clauses); err != nil || allStops(clauses, stop) {
		return true
	}
	p.commonWords = !slices.ContainsFunc(analysis.PlainWords([]byte(rest)), func(w string) bool { return !analysis.IsCommon(w) })
	for i, t := range p.query.terms {
		if _, other := q.index[t.term]; !other {
			p.dateWords |= setOf(i)
		}
	}
	return false
}

// The messages of a time, in the order of an answer: the user's prompts tell best
// what was done, then the agent's words. Outputs of tools are not listed, unless the
// search asks for them.
const (
	promptTier = iota
	replyTier
	otherTier
)

// leastWords is the length below which a message ("ok, thanks") comes after the others.
const leastWords = 4

// timeHit is a message of the time that the query names.
type timeHit struct {
	Hit
	tier, span int
}

// ofTheTime lists the messages of the times that the query names: prompts first, then
// replies, each in the order of time.
func (p *search) ofTheTime(req Request) (Result, error) {
	res := Result{Passages: int(p.stats.passages)}
	var list []timeHit
	for n, sh := range p.shares {
		oldest, newest := sh.r.Segment.Times()
		if !dates.Overlaps(p.spans, oldest, newest) {
			continue
		}
		docs := sh.r.PassageDocs()
		for _, within := range sh.ranges {
			last := int64(-1)
			for passage := within.From; passage < within.To; passage++ {
				doc, err := docs.At(passage)
				if err != nil {
					return Result{}, err
				}
				if int64(doc) == last || doc >= sh.end {
					continue
				}
				last = int64(doc)
				hit, ok, err := p.atTheTime(place{n, doc})
				if err != nil {
					return Result{}, err
				}
				if ok {
					list = append(list, hit)
				}
			}
			if err := p.ctx.Err(); err != nil {
				return Result{}, err
			}
		}
	}
	slices.SortFunc(list, func(x, y timeHit) int {
		return cmp.Or(cmp.Compare(x.span, y.span), cmp.Compare(x.tier, y.tier), cmp.Compare(x.ID, y.ID))
	})
	res.TimeOnly = len(list) > 0
	res.Matched, res.Ranked = len(list), min(len(list), candidateCount)
	res.Unranked = len(list) > candidateCount
	for i, h := range list[:res.Ranked] {
		h.Rank = 1 / float64(i+1)
		res.Hits = append(res.Hits, h.Hit)
	}
	if req.Limit > 0 && len(res.Hits) > req.Limit {
		res.Hits = res.Hits[:req.Limit]
	}
	for _, sh := range p.shares {
		res.Read += sh.r.BytesRead()
	}
	return res, nil
}

// atTheTime returns a document as a hit if it is of the time and in scope.
func (p *search) atTheTime(at place) (timeHit, bool, error) {
	r := p.shares[at.share].r
	row, err := r.Doc(at.doc)
	if err != nil {
		return timeHit{}, false, err
	}
	span := slices.IndexFunc(p.spans, func(s dates.Span) bool {
		return row.Time >= s.From.UnixMilli() && row.Time < s.To.UnixMilli()
	})
	h := timeHit{Hit: Hit{ID: row.ID, Conversation: row.Conversation, Time: row.Time, Role: row.Role, Matched: true}, span: span, tier: otherTier}
	if span < 0 || len(p.filter.Roles) == 0 && row.Role != userRole && row.Role != assistantRole {
		return h, false, nil
	}
	if ok, err := p.filter.passes(r, at.doc); err != nil || !ok {
		return h, false, err
	}
	words, err := p.words(at, row)
	if err == nil {
		h.Session, err = p.session(at, row)
	}
	switch {
	case words < leastWords:
	case row.Role == userRole:
		h.tier = promptTier
	case words <= maxTurnWords:
		h.tier = replyTier
	}
	return h, err == nil, err
}
