package index

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Fetch gives the text of documents. It calls yield for each id that still
// exists, in any order, and stops when yield returns false. The text may be
// reused after yield returns.
type Fetch func(ctx context.Context, ids []int64, yield func(id int64, text []byte) bool) error

// Filter says which documents a search looks at. The zero value is all of them.
type Filter struct {
	Conversations []int64             // none: every conversation
	Since, Before int64               // milliseconds, [Since, Before); zero: unbounded
	Roles         []uint8             // none: every role
	Without       uint8               // skip documents with any of these flags
	Through       int64               // the highest id, so that later documents change nothing; zero: unbounded
	Accept        func(id int64) bool // a last word on each document, may be nil
}

// outside reports that no document of the segment can pass.
func (f *Filter) outside(s *Segment) bool {
	oldest, newest := s.Times()
	return f.Through != 0 && s.Info().FirstID > f.Through || f.Since != 0 && newest < f.Since || f.Before != 0 && oldest >= f.Before
}

// covers reports that every document of the segment is within the times.
func (f *Filter) covers(s *Segment) bool {
	oldest, newest := s.Times()
	return (f.Since == 0 || oldest >= f.Since) && (f.Before == 0 || newest < f.Before)
}

// splits reports that the segment goes on past the highest id.
func (f *Filter) splits(s *Segment) bool { return f.Through != 0 && s.Info().LastID > f.Through }

// plain reports that every document of the segment in scope passes.
func (f *Filter) plain(s *Segment) bool {
	return f.covers(s) && !f.splits(s) && len(f.Roles) == 0 && f.Without&s.Flags() == 0 && f.Accept == nil
}

// passes asks for no more of a document than the filter needs: a column of
// marks is a tenth of the rows.
func (f *Filter) passes(r *reader, doc uint32) (bool, error) {
	if len(f.Roles) > 0 || f.Without&r.seg.Flags() != 0 {
		role, flags, err := r.marks(doc)
		if err != nil || flags&f.Without != 0 || len(f.Roles) > 0 && !slices.Contains(f.Roles, role) {
			return false, err
		}
	}
	if f.splits(r.seg) {
		if id, err := r.docID(doc); err != nil || id > f.Through {
			return false, err
		}
	}
	if !f.covers(r.seg) {
		row, err := r.doc(doc)
		if err != nil || f.Since != 0 && row.time < f.Since || f.Before != 0 && row.time >= f.Before {
			return false, err
		}
	}
	if f.Accept == nil {
		return true, nil
	}
	id, err := r.docID(doc)
	return err == nil && f.Accept(id), err
}

// limits bound the work of one search.
type limits struct {
	postings int // decoded before common words wait for the candidates of others
	common   int // passages with a word, above which it is too common to rank them all
	newest   int // passages of the newest set, when every word is
}

// defaultLimits were chosen by measuring at a million documents.
var defaultLimits = limits{postings: 1 << 20, common: 1 << 19, newest: 1 << 17}

// More bounds.
const (
	candidateCount = 400       // documents scored against their text
	verifyLimit    = 100_000   // candidates read to verify phrases
	prefixTerms    = 512       // terms that one prefix* stands for
	scoreTextBytes = 256 << 10 // longer texts keep the score of their postings
)

// BM25 parameters.
const (
	k1 = 1.2
	b  = 0.75
)

// Index is a set of segments in order of ids, seen as one.
type Index struct {
	Segments []*Segment

	limits *limits // nil: defaultLimits
}

// phase is the state of one search over the segments.
type phase struct {
	ctx     context.Context
	limits  limits
	query   *Query
	filter  Filter
	readers int // goroutines that read texts
	shares  []*share
	stats   stats
	lists   []termList
	skipped []int // terms too common to look up, scored among candidates
	newest  bool  // every word was too common: the newest set is ranked
	cut     bool  // not every match was looked at
	matched int
	placed  map[int64]place // of the candidates
	scorer  *scorer
}

// share is the part of a segment that is in scope.
type share struct {
	r      *reader
	ranges []passageRange
	plain  bool
	end    uint32 // the document behind the last within the filter's highest id
}

// whole reports that the segment has nothing outside the share, as most have in
// a store of one long conversation: what the dictionary counted is then exact.
func (sh *share) whole() bool {
	return len(sh.ranges) == 1 && sh.ranges[0] == passageRange{0, sh.r.seg.Passages()}
}

// termList is where one term of the query occurs.
type termList struct {
	df      uint32
	entries [][]dictEntry // by share
	partial bool          // a prefix with more terms than were looked at
}

// stats are the numbers of BM25 over the scope.
type stats struct {
	passages float64
	words    float64
	idf      []float64
}

func (s *stats) average() float64 {
	if s.passages == 0 || s.words == 0 {
		return 1
	}
	return s.words / s.passages
}

func (s *stats) setIDF(lists []termList) {
	s.idf = make([]float64, len(lists))
	for i, l := range lists {
		df := math.Min(float64(l.df), s.passages)
		s.idf[i] = math.Log(1 + (s.passages-df+0.5)/(df+0.5))
	}
}

// open finds the shares of the scope.
func (p *phase) open(ix Index) error {
	for _, seg := range ix.Segments {
		if p.filter.outside(seg) {
			continue
		}
		sh := &share{r: seg.reader(p.ctx), plain: p.filter.plain(seg), end: uint32(seg.Info().Docs)}
		if err := p.openShare(sh); err != nil {
			return err
		}
		if len(sh.ranges) > 0 {
			p.shares = append(p.shares, sh)
		}
	}
	return nil
}

func (p *phase) openShare(sh *share) error {
	seg := sh.r.seg
	if p.filter.splits(seg) {
		var err error
		if sh.end, err = sh.r.docsBelow(p.filter.Through + 1); err != nil {
			return err
		}
	}
	before := p.stats
	if len(p.filter.Conversations) == 0 {
		sh.ranges = []passageRange{{0, seg.Passages()}}
		p.stats.passages += float64(seg.Passages())
		p.stats.words += float64(seg.Words())
	} else if err := p.openTalks(sh); err != nil {
		return err
	}
	if !p.filter.splits(seg) {
		return nil
	}
	p.stats = before
	return p.countWithin(sh)
}

func (p *phase) openTalks(sh *share) error {
	convs := slices.Clone(p.filter.Conversations)
	slices.Sort(convs)
	for _, c := range slices.Compact(convs) {
		t, ok, err := sh.r.seg.talk(sh.r, c)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		sh.ranges = append(sh.ranges, t.passages)
		p.stats.passages += float64(t.passages.len())
		p.stats.words += float64(t.words)
	}
	return nil
}

// lookup finds the lists of every term and how often each occurs in scope.
func (p *phase) lookup() error {
	p.lists = make([]termList, len(p.query.terms))
	for i, t := range p.query.terms {
		l := &p.lists[i]
		l.entries = make([][]dictEntry, len(p.shares))
		for j, sh := range p.shares {
			entries, partial, err := t.entries(sh.r)
			if err != nil {
				return fmt.Errorf("look up %q: %w", t.typed, err)
			}
			l.entries[j] = entries
			l.partial = l.partial || partial
			for _, e := range entries {
				df, err := p.frequency(sh, e)
				if err != nil {
					return err
				}
				l.df += df
			}
		}
	}
	p.stats.setIDF(p.lists)
	return nil
}

// frequency counts the passages of the scope that hold a term. Inside
// conversations it counts them there, so that a word is as rare as it is in
// what is searched, not in the whole store.
func (p *phase) frequency(sh *share, e dictEntry) (uint32, error) {
	split := p.filter.splits(sh.r.seg)
	if !split && (len(p.filter.Conversations) == 0 || sh.whole()) {
		return e.df, nil
	}
	var scratch []posting
	for _, within := range sh.ranges {
		var err error
		if scratch, err = sh.r.postingsIn(scratch, e, within); err != nil {
			return 0, err
		}
	}
	if !split {
		return uint32(len(scratch)), nil
	}
	return sh.countPostings(scratch)
}

// entries finds the dictionary entries that a term of the query stands for.
func (t queryTerm) entries(r *reader) ([]dictEntry, bool, error) {
	if t.prefix == "" {
		e, ok, err := r.lookup(t.term)
		if err != nil {
			return nil, false, err
		}
		if ok {
			return []dictEntry{e}, false, nil
		}
		return nil, false, nil
	}
	found, partial, err := r.withPrefix(t.prefix, prefixTerms)
	if err != nil {
		return nil, false, err
	}
	for _, s := range shorterStems(t.prefix) {
		e, ok, err := r.lookup(s)
		if err != nil {
			return nil, false, err
		}
		if ok {
			found = append(found, e)
		}
	}
	return found, partial, nil
}

// choose decides which terms are looked up: all of them while the work stays
// in bounds, and beyond that the rarest and the required.
func (p *phase) choose() []int {
	order := make([]int, 0, len(p.lists))
	for i := range p.lists {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(x, y int) int { return int(p.lists[x].df) - int(p.lists[y].df) })
	var chosen []int
	scored := false
	budget := p.limits.postings
	for _, i := range order {
		t, df := p.query.terms[i], int(p.lists[i].df)
		required := t.must || t.not
		if !required && df > budget && scored {
			p.skipped = append(p.skipped, i)
			continue
		}
		if df > 0 {
			scored = scored || !t.not
			budget -= df
		}
		chosen = append(chosen, i)
	}
	slices.Sort(chosen)
	return chosen
}
