package search

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/lossless-context/lcm/internal/search/analysis"
	"github.com/lossless-context/lcm/internal/search/dates"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// Fetch gives the text of documents. It calls yield for each id that still
// exists, in any order, and stops when yield returns false. The text may be
// reused after yield returns.
type Fetch func(ctx context.Context, ids []int64, yield func(id int64, text []byte) bool) error

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
	candidateCount = 400       // documents that are ranked
	scoredCount    = 100       // the best of them, which are scored against their text
	datedCount     = 100       // more of them from the times that the query names
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
	Segments []*segment.Segment

	limits *limits // nil: defaultLimits
}

// search is the state of one search over the segments.
type search struct {
	ctx     context.Context
	limits  limits
	query   *Query
	spans   []dates.Span // of time, that the query names
	filter  Filter
	weights Weights
	// commonWords says that beside a time the query has only common words: "what did I ask for".
	commonWords bool
	readers     int  // goroutines that read texts
	verify      bool // candidates are checked against their texts
	shares      []*share
	stats       stats
	lists       []termList
	also        map[int][]string // terms that stand for a term of the query; see alternatives
	skipped     []int            // terms too common to look up, scored among candidates
	newest      bool             // every word was too common: the newest set is ranked
	cut         bool             // not every match was looked at
	matched     int
	ranked      int             // matches that were ranked
	placed      map[int64]place // of the candidates
	// dateWords are the terms that name a time: they make no match.
	dateWords termSet
	dated     *best // matches of the times that the query names; nil without any
	scorer    *scorer
}

// share is the part of a segment that is in scope.
type share struct {
	r      *segment.Reader
	ranges []segment.PassageRange
	plain  bool
	end    uint32 // the document behind the last within the filter's highest id
}

// whole reports that all of the segment is in the share, as in a store of one
// long conversation. The counts of the dictionary are exact then.
func (sh *share) whole() bool {
	return len(sh.ranges) == 1 && sh.ranges[0] == segment.PassageRange{To: sh.r.Segment.Passages()}
}

// termList is where one term of the query occurs.
type termList struct {
	df      uint32                // passages that hold it or a term that stands for it
	own     uint32                // passages that hold it
	entries [][]segment.DictEntry // by share
	partial bool                  // a prefix with more terms than were looked at
	guessed bool                  // the terms that stand for it are guesses
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
		s.idf[i] = s.idfOf(l.df)
	}
}

// idfOf is the weight of a term that so many passages hold.
func (s *stats) idfOf(passages uint32) float64 {
	return rarity(float64(passages), s.passages)
}

// Rarity is the weight of a term that so many passages of a scope hold.
func Rarity(passages, scope int) float64 { return rarity(float64(passages), float64(scope)) }

func rarity(passages, scope float64) float64 {
	df := math.Min(passages, scope)
	return math.Log(1 + (scope-df+0.5)/(df+0.5))
}

// open finds the shares of the scope.
func (p *search) open(ix Index) error {
	for _, seg := range ix.Segments {
		if p.filter.outside(seg) {
			continue
		}
		sh := &share{r: seg.Reader(p.ctx), plain: p.filter.plain(seg), end: uint32(seg.Info().Docs)}
		if err := p.openShare(sh); err != nil {
			return err
		}
		if len(sh.ranges) > 0 {
			p.shares = append(p.shares, sh)
		}
	}
	p.verify = p.query.prefixed()
	return nil
}

func (p *search) openShare(sh *share) error {
	seg := sh.r.Segment
	if p.filter.splits(seg) {
		var err error
		if sh.end, err = sh.r.DocsBelow(p.filter.Through + 1); err != nil {
			return err
		}
	}
	before := p.stats
	if len(p.filter.Conversations) == 0 {
		sh.ranges = []segment.PassageRange{{To: seg.Passages()}}
		p.stats.passages += float64(seg.Passages())
		p.stats.words += float64(seg.Words())
	} else if err := p.openConversations(sh); err != nil {
		return err
	}
	if !p.filter.splits(seg) {
		return nil
	}
	p.stats = before
	return p.countWithin(sh)
}

func (p *search) openConversations(sh *share) error {
	convs := slices.Clone(p.filter.Conversations)
	slices.Sort(convs)
	for _, c := range slices.Compact(convs) {
		t, ok, err := sh.r.Segment.Conversation(sh.r, c)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		sh.ranges = append(sh.ranges, t.Passages)
		p.stats.passages += float64(t.Passages.Len())
		p.stats.words += float64(t.Words)
	}
	return nil
}

// lookup finds the lists of every term and how often each occurs in scope.
func (p *search) lookup() error {
	p.lists = make([]termList, len(p.query.terms))
	for i, t := range p.query.terms {
		l := &p.lists[i]
		l.entries = make([][]segment.DictEntry, len(p.shares))
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
		if l.own = l.df; l.own > 0 && l.own <= rarePassages {
			var err error
			if l.own, err = p.visible(l); err != nil {
				return err
			}
		}
	}
	p.stats.setIDF(p.lists)
	return nil
}

// rarePassages is the frequency up to which the passages of a word are looked at one by
// one: the question itself, which the search leaves out, may be the only text that has it.
const rarePassages = 8

// visible counts the passages of a term in documents that the filter passes.
func (p *search) visible(l *termList) (n uint32, err error) {
	var scratch []segment.Posting
	for j, sh := range p.shares {
		scratch = scratch[:0]
		for _, e := range l.entries[j] {
			for _, within := range sh.ranges {
				if scratch, err = sh.r.PostingsIn(scratch, e, within); err != nil {
					return 0, err
				}
			}
		}
		docs := sh.r.PassageDocs()
		for _, post := range scratch {
			doc, err := docs.At(post.Passage)
			if err != nil {
				return 0, err
			}
			ok := sh.plain
			if !ok {
				if ok, err = p.filter.passes(sh.r, doc); err != nil {
					return 0, err
				}
			}
			if ok {
				n++
			}
		}
	}
	return n, nil
}

// frequency counts the passages of the scope that hold a term, so that a word is
// as rare as it is in the searched conversations, not in the whole store.
func (p *search) frequency(sh *share, e segment.DictEntry) (uint32, error) {
	split := p.filter.splits(sh.r.Segment)
	if !split && (len(p.filter.Conversations) == 0 || sh.whole()) {
		return e.DF, nil
	}
	var scratch []segment.Posting
	for _, within := range sh.ranges {
		var err error
		if scratch, err = sh.r.PostingsIn(scratch, e, within); err != nil {
			return 0, err
		}
	}
	if !split {
		return uint32(len(scratch)), nil
	}
	return sh.countPostings(scratch)
}

// entries finds the dictionary entries that a term of the query stands for.
func (t queryTerm) entries(r *segment.Reader) ([]segment.DictEntry, bool, error) {
	if t.prefix == "" {
		e, ok, err := r.Lookup(t.term)
		if err != nil {
			return nil, false, err
		}
		if ok {
			return []segment.DictEntry{e}, false, nil
		}
		return nil, false, nil
	}
	found, partial, err := r.WithPrefix(t.prefix, prefixTerms)
	if err != nil {
		return nil, false, err
	}
	for _, s := range analysis.ShorterStems(t.prefix) {
		e, ok, err := r.Lookup(s)
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
func (p *search) choose() []int {
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

// Documents past a search's highest id must not change its scores: words that
// became more common would reorder the pages that are still to be read. In a
// segment that goes on past that id, passages are therefore counted one by one.

// countWithin adds the passages of a share's documents up to its end.
func (p *search) countWithin(sh *share) error {
	docs, lengths := sh.r.PassageDocs(), sh.r.PassageLengths()
	for _, within := range sh.ranges {
		for at := within.From; at < within.To; at++ {
			doc, err := docs.At(at)
			if err != nil {
				return err
			}
			if doc >= sh.end {
				continue
			}
			length, err := lengths.At(at)
			if err != nil {
				return err
			}
			p.stats.passages++
			p.stats.words += float64(length)
		}
	}
	return nil
}

// countPostings counts those of a share's documents up to its end.
func (sh *share) countPostings(list []segment.Posting) (uint32, error) {
	docs := sh.r.PassageDocs()
	n := uint32(0)
	for _, post := range list {
		doc, err := docs.At(post.Passage)
		if err != nil {
			return 0, err
		}
		if doc < sh.end {
			n++
		}
	}
	return n, nil
}
