package search

import (
	"math"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/search/analysis"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// scorer scores texts exactly: every term of the query, also the common ones,
// and the pairs of words that stand side by side. The postings only choose the
// texts that it reads.
type scorer struct {
	query *Query
	stats *stats
	norms *[256]float32
	pairs map[[2]int]int
	df    []int // texts in which each pair occurs
	terms *analysis.TermFilter

	forms *wordForms // of the terms that stand for others

	tokens  []analysis.Token
	scratch []byte
}

// textScore counts the terms and pairs of the query in one text.
type textScore struct {
	passages []passageScore
	counts   []float64 // of each term in the whole text
	asks     bool
}

// passageScore is a passage that holds at least one term.
type passageScore struct {
	terms float64
	norm  float64
	pairs []uint8
}

func newScorer(q *Query, s *stats, norms *[256]float32) *scorer {
	sc := &scorer{query: q, stats: s, norms: norms, pairs: make(map[[2]int]int), df: make([]int, len(q.pairs)), terms: q.termFilter(), forms: &wordForms{forms: make(map[string]string)}}
	for i, p := range q.pairs {
		sc.pairs[[2]int{p.first, p.second}] = i
	}
	return sc
}

// score reads a text. total needs the rarity of pairs, so every text must be
// counted (see count) before any is totalled.
func (sc *scorer) score(text []byte) textScore {
	out := textScore{counts: make([]float64, len(sc.query.terms))}
	p := passageTally{sc: sc, counts: make([]float64, len(sc.query.terms)), last: -1}
	runs := analysis.Spans{Text: text}
	for sp, ok := runs.Next(); ok; sp, ok = runs.Next() {
		sc.tokens = analysis.Analyse(sc.tokens[:0], text, sp)
		for _, t := range sc.tokens {
			p.see(t, &out)
		}
	}
	p.close(&out)
	out.asks = analysis.EndsWithQuestion(text)
	return out
}

// count notes the pairs of a text that will be ranked.
func (sc *scorer) count(t textScore) {
	for i := range sc.df {
		for _, ps := range t.passages {
			if ps.pairs != nil && ps.pairs[i] > 0 {
				sc.df[i]++
				break
			}
		}
	}
}

// clone returns a scorer of the same query for another goroutine.
func (sc *scorer) clone() *scorer {
	other := *sc
	other.tokens, other.scratch = nil, nil
	return &other
}

// find is the place of a token's term among the query's, or -1.
func (sc *scorer) find(t analysis.Token) int {
	q := sc.query
	switch t.Kind {
	case analysis.PlainToken:
		sc.scratch = append(sc.scratch[:0], t.Raw...)
	case analysis.WholeToken:
		if !sc.terms.Wholes {
			return -1
		}
		sc.scratch = append(sc.scratch[:0], t.Term()...)
	default:
		if sc.terms.Rejects(t.Raw) {
			return -1
		}
		sc.scratch = analysis.WordTerm(sc.scratch[:0], t.Raw)
	}
	if n, ok := q.index[string(sc.scratch)]; ok {
		if sc.forms != nil && q.terms[n].term != string(sc.scratch) {
			sc.forms.add(string(sc.scratch), t)
		}
		return n
	}
	if sc.terms.Prefixes && t.Kind != analysis.WholeToken {
		plain := analysis.PlainForm(t)
		return slices.IndexFunc(q.terms, func(qt queryTerm) bool {
			return qt.prefix != "" && strings.HasPrefix(plain, qt.prefix)
		})
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
	if p.words == segment.PassageWords {
		p.close(out)
	}
	p.words++
}

// see counts a token. A function word may stand between the words of a pair.
func (p *passageTally) see(t analysis.Token, out *textScore) {
	term := p.sc.find(t)
	if !t.Whole() {
		p.step(out)
	}
	if term >= 0 {
		p.counts[term]++
		p.any = true
	}
	if t.Whole() {
		return
	}
	if p.last >= 0 && term >= 0 {
		if i, ok := p.sc.pairs[[2]int{p.last, term}]; ok {
			if p.pairs == nil {
				p.pairs = make([]uint8, len(p.sc.df))
			}
			p.pairs[i]++
		}
	}
	if term >= 0 || p.last >= 0 && !analysis.IsStopWord(analysis.PlainForm(t)) {
		p.last = term
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
	return top
}

func (sc *scorer) pairIDF(i int) float64 {
	return rarity(float64(sc.df[i]), sc.stats.passages)
}
