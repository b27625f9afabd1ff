package analysis

import "unicode/utf8"

// TermFilter rules out most words of a text that are none of a set of terms
// without analysing them: folding and stemming keep the first letters of a
// word, and irregular forms are known.
type TermFilter struct {
	one      [256]bool   // first letters
	two      [65536]bool // first two letters
	Wholes   bool        // the set has identifiers with connectors
	Prefixes bool        // the set has beginnings of words
}

// AddTerm adds a term of the index.
func (f *TermFilter) AddTerm(term string) {
	f.Wholes = f.Wholes || term[0] == wholeMark
	f.addForm(term)
	for _, form := range irregularOf()[term] {
		f.addForm(form)
	}
}

// AddPrefix adds the beginning of words.
func (f *TermFilter) AddPrefix(prefix string) {
	f.Prefixes = true
	f.AddTerm(prefix)
}

func (f *TermFilter) addForm(word string) {
	f.one[word[0]] = true
	if len(word) > 1 {
		f.two[int(word[0])<<8|int(word[1])] = true
	}
}

// Rejects reports that a word is none of the terms. False may be wrong.
func (f *TermFilter) Rejects(raw []byte) bool {
	if raw[0] >= utf8.RuneSelf || raw[0] == '\'' {
		return false
	}
	first := asciiFold[raw[0]]
	if len(raw) <= 4 {
		return !f.one[first]
	}
	if raw[1] >= utf8.RuneSelf || raw[1] == '\'' {
		return false
	}
	return !f.two[int(first)<<8|int(asciiFold[raw[1]])]
}
