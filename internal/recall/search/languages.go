package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/recall/search/analysis"
	"github.com/lossless-context/lcm/internal/recall/search/segment"
	"github.com/lossless-context/lcm/internal/recall/search/variants"
)

// inflected are the forms of the word in the languages of the record. A question
// without a word or a letter of another language is in English.
func (v *vocabulary) inflected(t queryTerm) ([]string, error) {
	foreign := func(t queryTerm) bool {
		return strings.ContainsFunc(t.raw, func(r rune) bool { return r >= utf8.RuneSelf }) ||
			slices.ContainsFunc(variants.Languages, func(l *variants.Language) bool { return slices.Contains(l.Common, t.typed) })
	}
	if !slices.ContainsFunc(v.query.terms, foreign) {
		return nil, nil
	}
	languages, err := v.recorded()
	if err != nil {
		return nil, err
	}
	return v.sameStem(t, languages)
}

// forms are the inflected forms of a word that the record has.
func (v *vocabulary) forms(t queryTerm, languages []*variants.Language) ([]knownTerm, error) {
	terms, err := v.sameStem(t, languages)
	if err != nil {
		return nil, err
	}
	return v.known(terms, maxForms)
}

// sameStem lists the terms that have the stem of the word in one of the
// languages.
func (v *vocabulary) sameStem(t queryTerm, languages []*variants.Language) ([]string, error) {
	var out []string
	for _, l := range languages {
		stem := l.Stem(t.term)
		prefix := []rune(stem)
		if !l.Writes(t.term) || len(prefix) < 3 {
			continue
		}
		if len(prefix) > 4 { // stemming may have changed the last letter
			prefix = prefix[:len(prefix)-1]
		}
		for _, sh := range v.shares {
			entries, _, err := sh.r.WithPrefix(string(prefix), sharedPrefixTerms)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if l.Stem(e.Term()) == stem {
					out = append(out, e.Term())
				}
			}
		}
	}
	return out, nil
}

// ofQuestion is the language of the question, if it is not English and the
// record has it.
func (v *vocabulary) ofQuestion() (*variants.Language, error) {
	for _, l := range variants.Languages {
		has := 0
		for _, t := range v.query.terms {
			if slices.Contains(l.Common, t.typed) || l.Alone() && l.Writes(t.typed) {
				has++
			}
		}
		if has < 2 && !(has == 1 && l.Alone()) || has <= len(v.query.Dropped) {
			continue
		}
		if languages, err := v.recorded(); err != nil || slices.Contains(languages, l) {
			return l, err
		}
	}
	return nil, nil
}

// recorded lists the languages of the record: those whose script tells them, and
// those of which the largest segment has some function words.
func (v *vocabulary) recorded() ([]*variants.Language, error) {
	if len(v.shares) == 0 {
		return nil, nil
	}
	largest := slices.MaxFunc(v.shares, func(x, y *share) int { return cmp.Compare(x.r.Segment.Passages(), y.r.Segment.Passages()) })
	type languages struct{}
	found, err := largest.r.Segment.Remember(languages{}, func() (any, error) { return languagesOf(largest.r) })
	if err != nil {
		return nil, err
	}
	return found.([]*variants.Language), nil
}

func languagesOf(r *segment.Reader) ([]*variants.Language, error) {
	var out []*variants.Language
	for _, l := range variants.Languages {
		has := 0
		for _, w := range l.Common[:min(languageSample, len(l.Common))] {
			if l.Alone() || has == languageWords {
				break
			}
			_, ok, err := r.Lookup(string(analysis.WordTerm(nil, []byte(w))))
			if err != nil {
				return nil, err
			}
			if ok {
				has++
			}
		}
		if l.Alone() || has == languageWords {
			out = append(out, l)
		}
	}
	return out, nil
}
