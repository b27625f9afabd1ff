package search

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/search/analysis"
	"github.com/lossless-context/lcm/internal/search/segment"
	"github.com/lossless-context/lcm/internal/search/variants"
)

// A word that the record does not have is looked for in other forms, with one typing
// mistake, and as the beginning of a hash or of a longer word. A word that the record has stands as it is, apart
// from the endings of German, which are no English ones and therefore still in the index.

// Bounds of the look-up. They hold for each word, at any size of the record.
const (
	maxAlternatives   = 3    // terms that stand for one word
	maxForms          = 12   // forms of one word with particles
	vocabularyBlocks  = 2000 // blocks of the dictionary that are read, of about 150 terms each
	sharedPrefixTerms = 256  // terms with the beginning of a word
	candidateTerms    = 16   // terms whose frequency is counted
	containingTexts   = 48   // texts that are read for words that contain the word
)

// alternatives finds the terms that stand for words of the query and adds their
// postings to those of the words.
func (p *search) alternatives(fetch Fetch, w Weights) error {
	if w.Near == 0 {
		return nil
	}
	p.also = make(map[int][]string)
	v := &vocabulary{search: p, fetch: fetch}
	for i, t := range p.query.terms {
		known := p.lists[i].own > 0
		if t.must || t.not || t.prefix != "" || t.raw == "" || p.dateWords&setOf(i) != 0 || known && !p.query.german {
			continue
		}
		factor := 1.0
		var found []knownTerm
		var err error
		if p.query.german && t.kind == analysis.WordToken {
			found, err = v.germanForms(t)
		}
		formed := len(found) > 0
		switch {
		case err != nil || known || formed:
		case t.kind == analysis.WordToken:
			found, factor, err = v.nearest(i, w.Near)
		}
		if err != nil {
			return err
		}
		if len(found) == 0 {
			continue
		}
		for _, k := range found {
			p.also[i] = append(p.also[i], k.term)
			p.lists[i].df += k.df
			for j := range p.shares {
				p.lists[i].entries[j] = append(p.lists[i].entries[j], k.entries[j]...)
			}
		}
		if p.lists[i].guessed = factor < 1; formed {
			p.lists[i].own = p.lists[i].df
		}
		p.stats.idf[i] = factor * p.stats.idfOf(p.lists[i].df)
	}
	if len(p.also) > 0 {
		p.query = p.query.with(p.also)
	}
	return nil
}

// findParts finds which of the words that seem never to have been said a text has as a part
// of a longer word or as its usual abbreviation.
func (v *vocabulary) findParts(terms []Term) error {
	for _, word := range Absent(v.query.text, terms).Words {
		typed := strings.Join(analysis.PlainWords([]byte(word)), "")
		at := slices.IndexFunc(terms, func(t Term) bool { return t.Word == typed })
		if at < 0 {
			continue
		}
		stem, raw := string(analysis.PlainTerm([]byte(typed))), []rune(word)
		letters := utf8.RuneCountInString(stem)
		find := v.containing
		if letters < 6 { // inside of many by chance: it must begin them
			find, stem = v.beginning, typed
		}
		found, err := find(queryTerm{typed: stem, raw: string(raw[:min(letters, len(raw))])})
		if err != nil {
			return err
		}
		for short := range abbreviations() {
			if strings.HasPrefix(typed, short) {
				found = append(found, string(analysis.WordTerm(nil, []byte(short))))
			}
		}
		known, err := v.known(found, 1)
		if err != nil {
			return err
		}
		terms[at].Part = len(known) > 0
	}
	return nil
}

// abbreviations are usual ones, each the beginning of a word.
var abbreviations = sync.OnceValue(func() map[string]bool {
	return analysis.WordSet(`addr admin alloc async attr auth calc cert conf config coord decl demo desc dest diff eval exec expr func
ident impl incr info init meta misc norm orig param perf perm pref prev proc prod repo spec stat sync temp util`)
})

// vocabulary looks up the terms of the index for one search.
type vocabulary struct {
	*search
	fetch Fetch
}

// knownTerm is a term of the index that occurs in the scope.
type knownTerm struct {
	term    string
	df      uint32
	entries [][]segment.DictEntry // by share
}

// known keeps the terms that occur in the scope, the most frequent first, and
// none that the query has anyway.
func (v *vocabulary) known(terms []string, most int) ([]knownTerm, error) {
	var out []knownTerm
	seen := make(map[string]bool)
	for _, term := range terms {
		if _, has := v.query.index[term]; has || seen[term] || term == "" {
			continue
		}
		if seen[term] = true; len(seen) > candidateTerms {
			break
		}
		k := knownTerm{term: term, entries: make([][]segment.DictEntry, len(v.shares))}
		for j, sh := range v.shares {
			e, ok, err := sh.r.Lookup(term)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			df, err := v.frequency(sh, e)
			if err != nil {
				return nil, err
			}
			if df > 0 {
				k.df += df
				k.entries[j] = []segment.DictEntry{e}
			}
		}
		if k.df > 0 {
			out = append(out, k)
		}
	}
	slices.SortStableFunc(out, func(x, y knownTerm) int { return cmp.Or(cmp.Compare(y.df, x.df), cmp.Compare(x.term, y.term)) })
	return out[:min(most, len(out))], nil
}

// nearest finds the terms that stand for a word that the record lacks, by the
// first way that finds any, and the factor of their weight.
func (v *vocabulary) nearest(i int, near float64) ([]knownTerm, float64, error) {
	t := v.query.terms[i]
	number := strings.ContainsFunc(t.typed, unicode.IsDigit)
	for _, way := range []struct {
		when   bool
		find   func(t queryTerm) ([]string, error)
		most   int
		factor float64
	}{
		{true, v.particles, maxForms, 1},
		{number, hashes, maxAlternatives, 1},
		{number, v.beginning, maxAlternatives, 1},
		// A known word of the language is meant as it stands.
		{!number && !analysis.IsCommon(t.typed), v.mistyped, maxAlternatives, near},
		{!number, v.beginning, maxAlternatives, near},
	} {
		if !way.when {
			continue
		}
		terms, err := way.find(t)
		if err != nil {
			return nil, 0, err
		}
		if found, err := v.known(terms, way.most); err != nil || len(found) > 0 {
			return found, way.factor, err
		}
	}
	return nil, 0, nil
}

// unlikely reports that a short word is hardly a misspelling of a term: "drone" does not
// mean "done", which tells nothing, unless it has the same letters. On LoCoMo with typing
// mistakes this rule loses nothing; without the exception for rarer words it lost 0.010 of r@10.
func unlikely(typed, term string) bool {
	return utf8.RuneCountInString(typed) < 6 && analysis.IsCommon(term) && !strings.HasPrefix(term, typed) && !sameLetters(typed, term)
}

// particles are the forms of an Arabic or Hebrew word.
func (v *vocabulary) particles(t queryTerm) ([]string, error) {
	forms := variants.Particles(t.typed)
	if forms == nil {
		return nil, nil
	}
	return v.walk(forms.MayBegin, forms.Has)
}

// germanForms are the terms with the stem of a German word.
func (v *vocabulary) germanForms(t queryTerm) ([]knownTerm, error) {
	stem := analysis.GermanStem(t.typed)
	var out []string
	for _, begin := range []string{stem, "ge" + stem} {
		terms, err := v.beginning(queryTerm{typed: begin})
		if err != nil {
			return nil, err
		}
		out = append(out, slices.DeleteFunc(terms, func(term string) bool { return analysis.GermanStem(term) != stem })...)
	}
	return v.known(out, maxForms)
}

// walk lists the terms of the index that a test accepts. MayBegin rules out
// blocks of the dictionary by the letters with which all their terms begin.
func (v *vocabulary) walk(mayBegin, accept func([]byte) bool) ([]string, error) {
	var out []string
	for _, sh := range v.shares {
		err := sh.r.Walk(vocabularyBlocks/len(v.shares)+1, mayBegin, func(term []byte) {
			if accept(term) {
				out = append(out, string(term))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// hashes are the shorter forms of a long hash.
func hashes(t queryTerm) ([]string, error) {
	var out []string
	if len(t.typed) < 12 || strings.Trim(t.typed, "0123456789abcdef") != "" {
		return nil, nil
	}
	for n := 12; n >= 7; n-- {
		out = append(out, t.typed[:n])
	}
	return out, nil
}

// beginning are the terms that begin with the word: a short hash, the first part
// of a compound.
func (v *vocabulary) beginning(t queryTerm) ([]string, error) {
	if len(t.typed) < 4 {
		return nil, nil
	}
	var out []string
	for _, sh := range v.shares {
		entries, _, err := sh.r.WithPrefix(t.typed, sharedPrefixTerms)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			out = append(out, e.Term())
		}
	}
	return out, nil
}

// mistyped are the terms with one letter more, less or other than a word of five letters
// or more. The first letter is right, which people rarely mistype, or exchanged with the
// second.
func (v *vocabulary) mistyped(t queryTerm) ([]string, error) {
	if utf8.RuneCountInString(t.typed) < 5 || len(t.term) < 2 {
		return nil, nil
	}
	near := variants.Near(t.term, 1)
	begins := func(term []byte) bool {
		return len(term) == 0 || term[0] == t.term[0] || term[0] == t.term[1] && (len(term) == 1 || term[1] == t.term[0])
	}
	terms, err := v.walk(func(beginning []byte) bool { return begins(beginning) && near.MayBegin(beginning) }, func(term []byte) bool {
		return begins(term) && near.Distance(term) == 1 &&
			!slices.ContainsFunc(term, func(c byte) bool { return c >= '0' && c <= '9' })
	})
	return slices.DeleteFunc(terms, func(term string) bool { return unlikely(t.typed, term) }), err
}

var errEnough = errors.New("enough")

// containing are the words that contain the word, from the newest texts that
// have it.
func (v *vocabulary) containing(t queryTerm) ([]string, error) {
	pattern, err := ParsePattern("(?i)" + regexp.QuoteMeta(t.raw))
	if err != nil || !pattern.Indexed() {
		return nil, nil // too short to look up
	}
	req := GrepRequest{Pattern: pattern, Filter: v.filter}
	var ids []int64
	for _, sh := range slices.Backward(v.shares) {
		if len(ids) == containingTexts {
			break
		}
		accept := req.acceptor(sh.r)
		err := sh.r.Candidates(pattern.query, func(doc uint32) error {
			id, ok, err := accept(doc)
			if ok {
				ids = append(ids, id)
			}
			if len(ids) == containingTexts {
				return errEnough
			}
			return err
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, err
		}
	}
	var out []string
	slices.Sort(ids)
	err = v.fetch(v.ctx, ids, func(_ int64, text []byte) bool {
		if pattern.re.Match(text) {
			for _, w := range analysis.RawWords(text) {
				if strings.Contains(analysis.PlainForm(w), t.typed) {
					out = append(out, w.Term())
				}
			}
		}
		return v.ctx.Err() == nil
	})
	slices.Sort(out)
	return slices.Compact(out), errors.Join(err, v.ctx.Err())
}
