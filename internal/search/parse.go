package search

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/search/analysis"
)

// Limits of a query. Query.Ignored counts the words beyond them.
const (
	maxQueryBytes = 64 << 10
	maxQueryTerms = 64
)

// ErrNoWords reports a query without anything to look for.
var ErrNoWords = errors.New("index: the query has no words to search for")

// Query is a parsed full-text query.
type Query struct {
	text        string // as it was typed
	terms       []queryTerm
	pairs       []pair
	phrases     []phrase
	index       map[string]int // term → its place in terms
	identifiers bool           // it has words that nobody would write in prose
	german      bool           // its function words are German
	Dropped     []string       // function words left out
	Ignored     int            // words beyond the limit

	filterOnce sync.Once
	filter     *analysis.TermFilter
}

// queryTerm is one term of the index that the query looks for.
type queryTerm struct {
	term   string
	typed  string // for reports
	raw    string // as it was typed; of an unspaced script, the run that it is part of
	kind   analysis.Kind
	prefix string // set for prefix*: folded, not stemmed
	must   bool
	not    bool
}

// termSet is a set of terms of a query, by their places.
type termSet uint64

func setOf(place int) termSet {
	if place < 0 {
		return 0
	}
	return 1 << place
}

// pair is two terms that stand side by side in the query.
type pair struct{ first, second int }

// phrase is a quoted sequence of words, compared without stemming, that a text
// must have or, with not, must not have.
type phrase struct {
	words []string
	not   bool
	keys  []string // the terms of its words
}

// ParseQuery reads a query: words are alternatives and are ranked, +word is
// required, -word excludes, pre* finds words by their beginning. "A phrase" is
// required when there are no plain words beside it; in a question it is a title
// or a quotation, and its words count like the others. AND, OR and NOT in
// capitals are operators. Function words are dropped unless the query has no
// other words.
func ParseQuery(s string) (*Query, error) {
	if len(s) > maxQueryBytes {
		return nil, fmt.Errorf("index: query of %d bytes: the limit is %d", len(s), maxQueryBytes)
	}
	p := &queryParser{q: &Query{text: s, index: make(map[string]int)}, last: -1}
	clauses := splitClauses(s)
	p.stop, p.q.german = stopsOf(clauses)
	p.keepStops = allStops(clauses, p.stop)
	p.q.identifiers = slices.ContainsFunc(clauses, clause.identifier)
	p.strict = !slices.ContainsFunc(clauses, func(c clause) bool { return c.plainWord(p.stop) })
	for _, c := range clauses {
		p.add(c)
	}
	if !p.q.positive() {
		return nil, fmt.Errorf("%w: %q", ErrNoWords, prose.Clip(s, 60))
	}
	return p.q, nil
}

func (q *Query) positive() bool {
	return slices.ContainsFunc(q.terms, func(t queryTerm) bool { return !t.not })
}

// Words lists the words that the query looks for, as they were typed.
func (q *Query) Words() []string {
	var out []string
	for _, t := range q.terms {
		if !t.not {
			out = append(out, t.typed)
		}
	}
	return out
}

// Plain reports a query of words alone: none is an identifier, required, excluded
// or a beginning.
func (q *Query) Plain() bool {
	return !q.identifiers && !slices.ContainsFunc(q.terms, func(t queryTerm) bool {
		return t.must || t.not || t.prefix != "" || t.kind == analysis.NameToken
	})
}

// clause is one piece of the query as typed.
type clause struct {
	text      string
	phrase    bool
	must, not bool
	prefix    bool
}

// plainWord reports a word that the query only prefers.
func (c clause) plainWord(stop func(string) bool) bool {
	return !c.phrase && !c.must && !c.not && !c.prefix &&
		slices.ContainsFunc(analysis.PlainWords([]byte(c.text)), func(w string) bool { return !stop(w) })
}

// identifier reports a word of at least five letters that nobody would write in
// prose: letters together with digits, or parts joined by underscores, slashes,
// colons or dots.
func (c clause) identifier() bool {
	word := strings.TrimFunc(c.text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '/' })
	return !c.phrase && !c.not && !c.prefix && len(word) >= 5 && strings.ContainsFunc(word, unicode.IsLetter) &&
		(strings.ContainsFunc(word, unicode.IsDigit) || strings.ContainsAny(word, "_/:.@#\\"))
}

// splitClauses cuts a query at white space and quotes. A quote without its
// partner is punctuation.
func splitClauses(s string) []clause {
	s = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`).Replace(s)
	var out []clause
	operator := ""
	for s != "" {
		s = strings.TrimLeft(s, " \t\r\n\v\f")
		var c clause
		if len(s) > 1 && (s[0] == '+' || s[0] == '-') && s[1] != s[0] && !strings.ContainsRune(" \t\r\n", rune(s[1])) {
			c.must, c.not = s[0] == '+', s[0] == '-'
			s = s[1:]
		}
		if end := strings.IndexByte(strings.TrimPrefix(s, `"`), '"'); strings.HasPrefix(s, `"`) && end >= 0 {
			c.text, c.phrase = s[1:1+end], true
			s = s[end+2:]
		} else {
			s = strings.TrimPrefix(s, `"`)
			end := strings.IndexAny(s, " \t\r\n\v\f\"")
			if end < 0 {
				end = len(s)
			}
			c.text, s = s[:end], s[end:]
		}
		if !c.phrase && (c.text == "AND" || c.text == "OR" || c.text == "NOT") {
			if operator = c.text; operator == "AND" && len(out) > 0 && !out[len(out)-1].not {
				out[len(out)-1].must = true
			}
			continue
		}
		if c.text == "" {
			continue
		}
		c.must = c.must || operator == "AND" && !c.not
		c.not = c.not || operator == "NOT"
		operator = ""
		c.prefix = !c.phrase && strings.HasSuffix(c.text, "*") && len(c.text) > 2
		out = append(out, c)
	}
	return out
}

// stopsOf returns a test for the function words of a query, and whether they are German.
func stopsOf(clauses []clause) (stop func(word string) bool, german bool) {
	var words []string
	for _, c := range clauses {
		if !c.phrase {
			words = append(words, analysis.PlainWords([]byte(c.text))...)
		}
	}
	return analysis.StopWords(words)
}

// allStops reports a query of nothing but function words. They are searched
// for then.
func allStops(clauses []clause, stop func(string) bool) bool {
	for _, c := range clauses {
		if c.phrase || c.must || c.prefix {
			return false
		}
		for _, w := range analysis.PlainWords([]byte(c.text)) {
			if !c.not && !stop(w) {
				return false
			}
		}
	}
	return true
}

type queryParser struct {
	q         *Query
	stop      func(word string) bool
	keepStops bool
	strict    bool // no plain words: phrases are required
	last      int  // the previous word's term, or -1, for pairs
}

func (p *queryParser) add(c clause) {
	switch {
	case c.phrase:
		p.addPhrase(c)
	case c.prefix:
		p.addPrefix(c)
	default:
		p.addWords(c)
	}
}

func (p *queryParser) addWords(c clause) {
	tokens := analysis.QueryTokens(c.text)
	for _, t := range tokens {
		if t.Lone {
			p.term(queryTerm{term: "*" + t.Plain, typed: t.Plain, prefix: t.Plain, must: c.must, not: c.not})
			p.last = -1
			continue
		}
		if !t.Whole() && !c.must && !c.not && !p.keepStops && p.stop(t.Plain) {
			p.q.Dropped = append(p.q.Dropped, t.Plain)
			continue
		}
		must := c.must && !t.Whole()
		not := c.not && !t.Whole()
		if c.not && t.Whole() {
			continue
		}
		raw := string(t.Raw)
		if t.Kind == analysis.PlainToken {
			raw = c.text
		}
		n := p.term(queryTerm{term: t.Term(), typed: t.Plain, raw: raw, kind: t.Kind, must: must, not: not})
		if t.Whole() || n < 0 || not {
			continue
		}
		p.follow(n)
	}
}

func (p *queryParser) addPhrase(c clause) {
	ph := phrase{not: c.not}
	must := !c.not && (c.must || p.strict)
	p.last = -1
	for _, t := range analysis.QueryTokens(c.text) {
		if t.Whole() {
			continue
		}
		ph.words = append(ph.words, t.Plain)
		ph.keys = append(ph.keys, t.Term())
		if c.not || !must && p.stop(t.Plain) {
			continue
		}
		if n := p.term(queryTerm{term: t.Term(), typed: t.Plain, raw: string(t.Raw), kind: t.Kind, must: must}); n >= 0 {
			p.follow(n)
		}
	}
	p.last = -1
	if len(ph.words) > 0 && (must || c.not) {
		p.q.phrases = append(p.q.phrases, ph)
	}
}

// follow notes that a term stands after the one before it.
func (p *queryParser) follow(n int) {
	if p.last >= 0 && p.last != n {
		p.q.pairs = append(p.q.pairs, pair{p.last, n})
	}
	p.last = n
}

func (p *queryParser) addPrefix(c clause) {
	tokens := analysis.QueryTokens(strings.TrimRight(c.text, "*"))
	words := slices.DeleteFunc(tokens, func(t analysis.TextToken) bool { return t.Whole() })
	for i, t := range words {
		q := queryTerm{term: t.Term(), typed: t.Plain, must: c.must, not: c.not}
		if i == len(words)-1 {
			q.term, q.prefix = "*"+t.Plain, t.Plain
		}
		p.term(q)
	}
	p.last = -1
}

// term adds a term, or strengthens the one that is there already.
func (p *queryParser) term(t queryTerm) int {
	q := p.q
	if n, ok := q.index[t.term]; ok {
		q.terms[n].must = q.terms[n].must || t.must
		return n
	}
	if len(q.terms) == maxQueryTerms {
		q.Ignored++
		return -1
	}
	q.index[t.term] = len(q.terms)
	q.terms = append(q.terms, t)
	return len(q.terms) - 1
}

// termFilter returns the filter of the query's terms. It is made once: its
// tables are larger than most texts.
func (q *Query) termFilter() *analysis.TermFilter {
	q.filterOnce.Do(func() {
		q.filter = new(analysis.TermFilter)
		for term, n := range q.index {
			if t := q.terms[n]; t.prefix != "" && term == t.term {
				q.filter.AddPrefix(t.prefix)
			} else {
				q.filter.AddTerm(term)
			}
		}
	})
	return q.filter
}

// with returns the query with more terms for some of its words: by their places,
// the terms that also count as them. A term that the query has already stays.
func (q *Query) with(also map[int][]string) *Query {
	out := &Query{
		text: q.text, terms: q.terms, pairs: q.pairs, phrases: q.phrases, index: maps.Clone(q.index), identifiers: q.identifiers, german: q.german,
		Dropped: q.Dropped, Ignored: q.Ignored,
	}
	for n := range q.terms {
		for _, term := range also[n] {
			if _, taken := out.index[term]; !taken {
				out.index[term] = n
			}
		}
	}
	return out
}

// With returns the query with more words for some of its own, as Result.Terms
// names them, so that an excerpt shows them too.
func (q *Query) With(terms []Term) *Query {
	also := make(map[int][]string)
	for _, t := range terms {
		for n, own := range q.terms {
			if own.typed != t.Word {
				continue
			}
			for _, w := range t.Also {
				for _, token := range analysis.QueryTokens(w) {
					also[n] = append(also[n], token.Term())
				}
			}
		}
	}
	return q.with(also)
}
