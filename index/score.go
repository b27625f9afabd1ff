package index

import (
	"math"
	"strings"
)

// scorer scores texts exactly: every term of the query, the common ones too,
// and the pairs of words that stand side by side. Postings only chose what it
// reads.
type scorer struct {
	query *Query
	stats *stats
	norms *[256]float32
	runs  map[string][]scoredToken
	pairs map[[2]int]int
	df    []int // texts in which each pair occurs
	buf   []token
	hints hints
}

// scoredToken is a token seen from the query: the place of its term among the
// query's, or -1.
type scoredToken struct {
	term  int
	whole bool
	stop  bool
}

// textScore is what one text has of the query.
type textScore struct {
	passages []passageScore
	counts   []float64 // of each term in the whole text
	phrases  float64   // weight of the phrases it has without being required to
	dated    bool
}

// passageScore is a passage that holds at least one term.
type passageScore struct {
	terms float64
	norm  float64
	pairs []uint8
}

// hints tell at a glance that a plain word is none of the query's: stemming
// changes the ends of words, never their first letters.
type hints struct {
	one [256]bool   // first letters
	two [65536]bool // first two letters
}

func newHints(q *Query) hints {
	var h hints
	for _, t := range q.terms {
		term := t.term
		if t.prefix != "" {
			term = t.prefix
		}
		h.one[term[0]] = true
		if len(term) > 1 {
			h.two[int(term[0])<<8|int(term[1])] = true
		}
	}
	return h
}

// rejects is sure of its answer only for words of plain letters, so it accepts
// all others.
func (h *hints) rejects(raw []byte) bool {
	first := raw[0]
	if isUpper(first) {
		first += 'a' - 'A'
	}
	if !isLower(first) {
		return false
	}
	for _, c := range raw[1:] {
		if !isLower(c) {
			return false
		}
	}
	if len(raw) <= 4 {
		return !h.one[first]
	}
	return !h.two[int(first)<<8|int(raw[1])]
}

func newScorer(q *Query, s *stats, norms *[256]float32) *scorer {
	sc := &scorer{query: q, stats: s, norms: norms, runs: make(map[string][]scoredToken),
		pairs: make(map[[2]int]int), df: make([]int, len(q.pairs)), hints: newHints(q)}
	for i, p := range q.pairs {
		sc.pairs[[2]int{p.first, p.second}] = i
	}
	return sc
}

// score reads a text.
func (sc *scorer) score(text []byte) textScore {
	out := textScore{counts: make([]float64, len(sc.query.terms))}
	p := passageTally{sc: sc, counts: make([]float64, len(sc.query.terms)), last: -1}
	runs := spans{text: text}
	for sp, ok := runs.next(); ok; sp, ok = runs.next() {
		if sp.class == classWord && sc.hints.rejects(text[sp.start:sp.end]) {
			p.pass(text[sp.start:sp.end], &out)
			continue
		}
		for _, t := range sc.analyse(text, sp) {
			p.see(t, &out)
		}
	}
	p.close(&out)
	for i := range sc.df {
		for _, ps := range out.passages {
			if ps.pairs != nil && ps.pairs[i] > 0 {
				sc.df[i]++
				break
			}
		}
	}
	out.phrases = sc.query.preferred(text, sc.stats.idf)
	if sc.query.When {
		out.dated = hasDate(text)
	}
	return out
}

func (sc *scorer) analyse(text []byte, sp span) []scoredToken {
	raw := text[sp.start:sp.end]
	if known, ok := sc.runs[string(raw)]; ok {
		return known
	}
	sc.buf = analyse(sc.buf[:0], text, sp)
	out := make([]scoredToken, len(sc.buf))
	for i, t := range sc.buf {
		term := t.term()
		out[i] = scoredToken{term: sc.find(term, t.raw), whole: t.whole(), stop: stopWords[term]}
	}
	sc.runs[string(raw)] = out
	return out
}

// find is the query's term for a term of the text; a prefix is compared with
// the unstemmed word.
func (sc *scorer) find(term string, raw []byte) int {
	if n, ok := sc.query.index[term]; ok {
		return n
	}
	for n, t := range sc.query.terms {
		if t.prefix == "" {
			continue
		}
		if strings.HasPrefix(term, t.prefix) || strings.HasPrefix(string(fold(raw)), t.prefix) {
			return n
		}
	}
	return -1
}

// passageTally counts the open passage.
type passageTally struct {
	sc     *scorer
	counts []float64
	pairs  []uint8
	words  int
	last   int // term of the previous word
	any    bool
}

// step makes room for one more word.
func (p *passageTally) step(out *textScore) {
	if p.words == passageWords {
		p.close(out)
	}
	p.words++
}

// pass counts a plain word that the query does not have. A function word may
// stand between the words of a pair.
func (p *passageTally) pass(raw []byte, out *textScore) {
	p.step(out)
	if p.last >= 0 && !stopWords[string(fold(raw))] {
		p.last = -1
	}
}

func (p *passageTally) see(t scoredToken, out *textScore) {
	if !t.whole {
		p.step(out)
	}
	if t.term >= 0 {
		p.counts[t.term]++
		p.any = true
	}
	if t.whole {
		return
	}
	if p.last >= 0 && t.term >= 0 {
		if i, ok := p.sc.pairs[[2]int{p.last, t.term}]; ok {
			if p.pairs == nil {
				p.pairs = make([]uint8, len(p.sc.df))
			}
			p.pairs[i]++
		}
	}
	if t.term >= 0 || !t.stop {
		p.last = t.term
	}
}

func (p *passageTally) close(out *textScore) {
	if p.any {
		norm := float64(p.sc.norms[min(p.words, 255)])
		ps := passageScore{norm: norm, pairs: p.pairs}
		for i, tf := range p.counts {
			out.counts[i] += tf
			if tf > 0 && !p.sc.query.terms[i].not {
				ps.terms += p.sc.stats.idf[i] * tf * (k1 + 1) / (tf + norm)
			}
			p.counts[i] = 0
		}
		out.passages = append(out.passages, ps)
	}
	p.pairs, p.words, p.any, p.last = nil, 0, false, -1
}

// total is the score of the text's best passage. A pair counts as a term of
// its own, as rare as it is among the texts that were read.
func (sc *scorer) total(t textScore, pairWeight float64) float64 {
	top := 0.0
	for _, ps := range t.passages {
		score := ps.terms
		for i, tf := range ps.pairs {
			if tf > 0 {
				score += pairWeight * sc.pairIDF(i) * float64(tf) * (k1 + 1) / (float64(tf) + ps.norm)
			}
		}
		top = math.Max(top, score)
	}
	return top + t.phrases
}

func (sc *scorer) pairIDF(i int) float64 {
	df := math.Min(float64(sc.df[i]), sc.stats.passages)
	return math.Log(1 + (sc.stats.passages-df+0.5)/(df+0.5))
}
