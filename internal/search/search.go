package search

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/search/dates"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// Sort is the order of the answers of a search.
type Sort uint8

// The orders. Relevance is the default.
const (
	ByRelevance Sort = iota
	ByRecency        // newest first
)

// Request is a full-text search.
type Request struct {
	Query   *Query
	Filter  Filter
	Sort    Sort
	Limit   int   // hits returned; zero: all that were ranked
	Below   int64 // for paging ByRecency: only documents with lower ids; zero: all
	Readers int   // goroutines that may call fetch at once; zero: one
	// Now is the time of the question, from which dates such as "last week" count
	// back, in its zone. Zero: only dates with a year are read.
	Now time.Time
}

// Result is the answer to a Request and an account of how it was found.
type Result struct {
	Hits     []Hit
	Matched  int      // documents that match
	AtLeast  bool     // Matched is a lower bound
	Ranked   int      // the matches that were ranked, of which Hits are the first
	Unranked bool     // there are matches that were not ranked: no Limit returns them
	Terms    []Term   // of the query, in its order
	Passages int      // of the scope
	Common   []string // words so common that only candidates of rarer ones were scored by them
	Newest   bool     // every word was so common that only the newest matches were ranked
	TimeOnly bool     // no word was found: the hits are the messages of the time that the query names
	Guessed  bool     // the scope has no word of the query, only words that may be meant
	Verified int      // texts read
	Read     int64    // bytes of index read
}

// Term is a term of the query with how often the scope has it.
type Term struct {
	Word     string   // as it was typed, folded
	Passages int      // that hold it
	Also     []string // other words that were taken for it, as the texts have them
	Guessed  bool     // Also are no forms of the word but words that may be meant
	Part     bool     // a longer word of the scope has it, or an abbreviation
}

// Search answers a full-text query over the segments.
func (ix Index) Search(ctx context.Context, req Request, fetch Fetch) (Result, error) {
	p := &search{ctx: ctx, limits: defaultLimits, query: req.Query, filter: req.Filter, readers: max(1, req.Readers)}
	if ix.limits != nil {
		p.limits = *ix.limits
	}
	weights, ok := ctx.Value(weightsKey{}).(Weights)
	if !ok {
		weights = DefaultWeights()
	}
	p.weights = weights
	timeOnly := req.Sort != ByRecency && p.takeDates(req.Now)
	if err := p.open(ix); err != nil {
		return Result{}, err
	}
	if timeOnly {
		return p.ofTheTime(req)
	}
	if err := p.lookup(); err != nil {
		return Result{}, err
	}
	if err := p.alternatives(fetch, weights); err != nil {
		return Result{}, err
	}
	p.scorer = newScorer(p.query, &p.stats, p.norms())
	res := Result{}
	find := p.best
	if req.Sort == ByRecency {
		find = p.newestFirst
	}
	hits, err := find(req, weights, fetch, &res)
	if err != nil {
		return Result{}, err
	}
	inTime := func(h Hit) bool { return dates.Within(p.spans, h.Time) > 0 }
	if len(p.spans) > 0 && !p.query.strict() && (p.matched == 0 || p.commonWords && !slices.ContainsFunc(hits, inTime)) {
		if all, err := p.ofTheTime(req); err != nil || all.TimeOnly || p.matched == 0 {
			return all, err
		}
	}
	if res.Hits, err = p.order(req, weights, hits); err != nil {
		return Result{}, err
	}
	if req.Limit > 0 && len(res.Hits) > req.Limit {
		res.Hits = res.Hits[:req.Limit]
	}
	p.account(&res)
	return res, (&vocabulary{p, fetch}).findParts(res.Terms)
}

func (p *search) account(res *Result) {
	res.Matched = p.matched
	res.Ranked = p.ranked
	res.Newest = p.newest
	res.Passages = int(p.stats.passages)
	for i, t := range p.query.terms {
		res.Terms = append(res.Terms, Term{t.typed, int(p.lists[i].own), p.scorer.formsOf(p.also[i]), p.lists[i].guessed, false})
	}
	for _, i := range p.skipped {
		res.Common = append(res.Common, p.query.terms[i].typed)
	}
	known := false
	for i, l := range p.lists {
		known = known || l.df > 0 && !l.guessed && p.dateWords&setOf(i) == 0
	}
	res.Guessed = p.matched > 0 && !known
	for _, l := range p.lists {
		res.AtLeast = res.AtLeast || l.partial
	}
	res.AtLeast = res.AtLeast || p.newest || len(p.skipped) > 0 || p.cut
	for _, sh := range p.shares {
		res.Read += sh.r.BytesRead()
	}
}

// best finds the best documents by their postings, and scores them by their
// texts.
func (p *search) best(_ Request, weights Weights, fetch Fetch, res *Result) ([]Hit, error) {
	n := candidateCount
	if p.verify {
		n = verifyLimit
	}
	chosen := p.choose()
	into := &best{n: n}
	budget := math.MaxInt
	if p.allCommon(chosen) && !p.query.verifies() {
		budget, p.newest = p.limits.newest, true
	}
	if len(p.spans) > 0 && !p.verify {
		p.dated = &best{n: datedCount}
	}
	for n := len(p.shares) - 1; n >= 0; n-- {
		if budget <= 0 {
			p.cut, res.Unranked = true, true
			break
		}
		touched, err := p.offer(n, chosen, p.shares[n].end, into)
		if err != nil {
			return nil, err
		}
		budget -= touched
	}
	list := into.sorted()
	ranked := len(list)
	list = p.withDated(list)
	added := len(list) - ranked
	for i := range list {
		list[i].scored = i < scoredCount || i >= ranked
	}
	res.Unranked = res.Unranked || p.matched > len(list)
	list, rest, err := p.toRead(list)
	if err != nil {
		return nil, err
	}
	docs, all, err := p.read(list, candidateCount+added, fetch, res)
	if err != nil {
		return nil, err
	}
	if err := p.scoreFirst(docs, fetch); err != nil {
		return nil, err
	}
	if docs, err = p.unread(docs, rest); err != nil {
		return nil, err
	}
	res.Unranked = res.Unranked || !all
	if p.verify {
		// Those that nobody read may not match at all.
		p.cut, p.matched = p.cut || res.Unranked, len(docs)
	}
	p.ranked = len(docs)
	return p.score(docs, weights)
}

// offer finds the matches of one share among its documents up to end, and
// returns how many passages that took.
func (p *search) offer(n int, chosen []int, end uint32, into *best) (touched int, err error) {
	live := p.shares[n].ranges
	if !p.newest { // which goes by how many passages were touched
		if live, err = p.narrow(n, chosen); err != nil || len(live) == 0 {
			return 0, err
		}
	}
	s := newSums(p.shares[n].r.Segment.Passages())
	defer s.release()
	if err := p.accumulate(n, chosen, live, s); err != nil {
		return 0, err
	}
	touched = len(s.touched)
	if err := p.collect(n, s, end, into); err != nil {
		return touched, err
	}
	// A filter that was cut off accepts nothing, which must not pass for a
	// share without matches.
	return touched, p.ctx.Err()
}

// allCommon reports that even the rarest word is too common to rank every match.
func (p *search) allCommon(chosen []int) bool {
	for _, i := range chosen {
		if t := p.query.terms[i]; !t.not && p.lists[i].df > 0 && int(p.lists[i].df) <= p.limits.common {
			return false
		}
	}
	return slices.ContainsFunc(chosen, func(i int) bool { return p.lists[i].df > 0 })
}

// score turns the texts that were read into candidates with scores.
func (p *search) score(docs []scoredDoc, weights Weights) ([]Hit, error) {
	out := make([]Hit, 0, len(docs))
	p.placed = make(map[int64]place, len(docs))
	for _, d := range docs {
		p.placed[d.id] = place{d.share, d.doc}
		row, err := p.shares[d.share].r.Doc(d.doc)
		if err != nil {
			return nil, err
		}
		c := hitOf(row, d.score)
		if d.read {
			c.Score, c.Counts, c.Asks = p.scorer.total(d.text, weights.Pair), d.text.counts, d.text.asks
		} else {
			c.Counts = d.counts(len(p.query.terms))
		}
		out = append(out, c)
	}
	return out, nil
}

func hitOf(row segment.DocRow, score float64) Hit {
	return Hit{ID: row.ID, Conversation: row.Conversation, Time: row.Time, Role: row.Role, Score: score}
}

// order ranks the candidates, with their neighbours, as the request asks.
func (p *search) order(req Request, weights Weights, list []Hit) ([]Hit, error) {
	if req.Sort == ByRecency {
		slices.SortFunc(list, func(x, y Hit) int { return cmp.Compare(y.ID, x.ID) })
		for i := range list {
			list[i].Rank, list[i].Matched = list[i].Score, true
		}
		return list, nil
	}
	list, err := p.surround(list)
	if err != nil {
		return nil, err
	}
	q := Question{IDF: p.stats.idf, Spans: p.spans}
	hits := Rank(q, list, weights)
	nameMatches(hits)
	return hits, nil
}
