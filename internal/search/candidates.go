package search

import (
	"cmp"
	"container/heap"
	"runtime"
	"slices"
	"sync"

	"github.com/lossless-context/lcm/internal/search/dates"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// found is a document that matches, with the score of its best passage.
type found struct {
	share int
	score float64
	worth float64 // score, times the factor for who said it
	terms uint64  // of the query that it has, as far as they were looked up
	doc   uint32
	// scored says that its text counts, if it is read, not only its postings.
	scored bool
}

// compare orders by worth, then newest first: segments are in order of ids, and
// so are the documents in them.
func (f found) compare(g found) int {
	return cmp.Or(cmp.Compare(g.worth, f.worth), f.newer(g))
}

func (f found) newer(g found) int {
	return cmp.Or(cmp.Compare(g.share, f.share), cmp.Compare(g.doc, f.doc))
}

// best is the n best documents that were offered: a heap, the worst on top, once
// there are n.
type best struct {
	n    int
	byID bool // the newest are the best
	list []found
}

func (h *best) Len() int           { return len(h.list) }
func (h *best) Less(i, j int) bool { return h.compare(h.list[i], h.list[j]) > 0 }
func (h *best) Swap(i, j int)      { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *best) Push(x any)         { h.list = append(h.list, x.(found)) }
func (h *best) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}

func (h *best) compare(f, g found) int {
	if h.byID {
		return f.newer(g)
	}
	return f.compare(g)
}

func (h *best) offer(f found) {
	if len(h.list) < h.n {
		if h.list = append(h.list, f); len(h.list) == h.n {
			heap.Init(h)
		}
	} else if h.compare(f, h.list[0]) < 0 {
		h.list[0] = f
		heap.Fix(h, 0)
	}
}

func (h *best) sorted() []found {
	slices.SortFunc(h.list, h.compare)
	return h.list
}

// sums are the scores and the matched terms of every passage of a segment.
type sums struct {
	score   []float32
	mask    []uint64
	touched []uint32
	scratch []segment.Posting // of one list
}

var sumsPool = sync.Pool{New: func() any { return new(sums) }}

func newSums(passages uint32) *sums {
	s := sumsPool.Get().(*sums)
	if cap(s.score) < int(passages) {
		s.score, s.mask = make([]float32, passages), make([]uint64, passages)
	}
	s.score, s.mask = s.score[:passages], s.mask[:passages]
	return s
}

// release clears the touched passages and returns the sums to the pool.
func (s *sums) release() {
	for _, p := range s.touched {
		s.score[p], s.mask[p] = 0, 0
	}
	s.touched = s.touched[:0]
	sumsPool.Put(s)
}

// order puts the touched passages in order: by sorting a few, by walking the
// ranges when there are many.
func (s *sums) order(ranges []segment.PassageRange) {
	if slices.IsSorted(s.touched) {
		return
	}
	total := 0
	for _, r := range ranges {
		total += r.Len()
	}
	if len(s.touched) < total/16 {
		slices.Sort(s.touched)
		return
	}
	s.touched = s.touched[:0]
	for _, r := range ranges {
		for p := r.From; p < r.To; p++ {
			if s.mask[p] != 0 {
				s.touched = append(s.touched, p)
			}
		}
	}
}

// accumulate adds the postings of the chosen terms in some passages of a share.
func (p *search) accumulate(n int, chosen []int, live []segment.PassageRange, s *sums) error {
	sh := p.shares[n]
	norms := p.norms()
	lengths := sh.r.PassageLengths()
	scratch := s.scratch
	defer func() { s.scratch = scratch }()
	for _, i := range chosen {
		t := p.query.terms[i]
		weight := float32(p.stats.idf[i] * (k1 + 1))
		if t.not {
			weight = 0
		}
		bit := uint64(1) << i
		for _, e := range p.lists[i].entries[n] {
			runtime.Gosched() // let writers run: a search takes milliseconds at a stretch on every core
			var err error
			if scratch, err = sh.r.PostingsAmong(scratch[:0], e, live); err != nil {
				return err
			}
			for _, post := range scratch {
				length, err := lengths.At(post.Passage)
				if err != nil {
					return err
				}
				if s.mask[post.Passage] == 0 {
					s.touched = append(s.touched, post.Passage)
				}
				s.mask[post.Passage] |= bit
				tf := float32(post.Count)
				s.score[post.Passage] += weight * tf / (tf + norms[length])
			}
		}
	}
	return nil
}

// norms is BM25's length term for every length of a passage.
func (p *search) norms() *[256]float32 {
	var t [256]float32
	average := p.stats.average()
	for i := range t {
		t[i] = float32(k1 * (1 - b + b*float64(i)/average))
	}
	return &t
}

// collect turns touched passages into documents, filters and counts those up to
// end, and offers them to the best.
func (p *search) collect(n int, s *sums, end uint32, into *best) error {
	sh := p.shares[n]
	runtime.Gosched()
	s.order(sh.ranges)
	var must, not uint64
	for i, t := range p.query.terms {
		if t.must {
			must |= 1 << i
		}
		if t.not && t.prefix == "" {
			not |= 1 << i
		}
	}
	oldest, newest := sh.r.Segment.Times()
	dated := p.dated != nil && dates.Overlaps(p.spans, oldest, newest)
	docs := sh.r.PassageDocs()
	for i := 0; i < len(s.touched); {
		of, err := docs.Range(s.touched[i])
		if err != nil {
			return err
		}
		doc, err := docs.At(of.From)
		if err != nil {
			return err
		}
		f := found{share: n, doc: doc}
		var mask uint64
		for ; i < len(s.touched) && s.touched[i] < of.To; i++ {
			passage := s.touched[i]
			mask |= s.mask[passage]
			f.score = max(f.score, float64(s.score[passage]))
		}
		if doc >= end || mask&must != must || mask&not != 0 || mask&^not&^uint64(p.dateWords) == 0 {
			continue
		}
		f.terms = mask
		if !sh.plain {
			if ok, err := p.filter.passes(sh.r, doc); err != nil {
				return err
			} else if !ok {
				continue
			}
		}
		row, err := sh.r.Doc(doc)
		if err != nil {
			return err
		}
		p.matched++
		f.worth = f.score * p.weights.mayBe(row.Role)
		into.offer(f)
		if dated && dates.Within(p.spans, row.Time) > 0 {
			p.dated.offer(f)
		}
	}
	return nil
}

// withDated adds the best matches of the times that the query names to the best
// matches of any time.
func (p *search) withDated(list []found) []found {
	if p.dated == nil {
		return list
	}
	have := make(map[place]bool, len(list))
	for _, f := range list {
		have[place{f.share, f.doc}] = true
	}
	for _, f := range p.dated.sorted() {
		if !have[place{f.share, f.doc}] {
			list = append(list, f)
		}
	}
	return list
}
