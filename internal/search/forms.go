package search

import (
	"cmp"
	"slices"
	"sync"

	"github.com/lossless-context/lcm/internal/search/analysis"
)

// wordForms are the words of the texts that were taken for words of the query,
// by term: the index has only stems.
type wordForms struct {
	mu    sync.Mutex
	forms map[string]string
}

// add keeps the shortest form of a term, and of those the first by the alphabet.
func (f *wordForms) add(term string, t analysis.Token) {
	form := analysis.PlainForm(t)
	f.mu.Lock()
	defer f.mu.Unlock()
	if kept, ok := f.forms[term]; !ok || cmp.Or(cmp.Compare(len(form), len(kept)), cmp.Compare(form, kept)) < 0 {
		f.forms[term] = form
	}
}

// formsOf are the words of terms, as far as texts were read that have them.
func (sc *scorer) formsOf(terms []string) []string {
	var out []string
	for _, t := range terms {
		if form, ok := sc.forms.forms[t]; ok && !slices.Contains(out, form) {
			out = append(out, form)
		}
	}
	return out
}
