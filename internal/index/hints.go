package index

import "unicode/utf8"

// hints tell at a glance that a word is none of the query's: folding and
// stemming leave the first letters of a word alone, and irregular forms are
// known. Most words of a text are told apart so, without being analysed.
type hints struct {
	one      [256]bool   // first letters
	two      [65536]bool // first two letters
	wholes   bool        // the query has identifiers
	prefixes bool        // the query has beginnings of words
}

// hinted returns the hints of a query. They are made once: their tables are
// larger than most texts that they are held against.
func (q *Query) hinted() *hints {
	q.hinting.Do(func() { q.hints = newHints(q) })
	return q.hints
}

func newHints(q *Query) *hints {
	h := &hints{}
	for _, t := range q.terms {
		term := t.term
		if t.prefix != "" {
			term, h.prefixes = t.prefix, true
		}
		h.wholes = h.wholes || term[0] == wholeMark
		h.add(term)
		for _, form := range irregularOf[term] {
			h.add(form)
		}
	}
	return h
}

func (h *hints) add(word string) {
	h.one[word[0]] = true
	if len(word) > 1 {
		h.two[int(word[0])<<8|int(word[1])] = true
	}
}

// rejects is certain; what it is not sure of it accepts.
func (h *hints) rejects(raw []byte) bool {
	if raw[0] >= utf8.RuneSelf {
		return false
	}
	first := asciiFold[raw[0]]
	if len(raw) <= 4 {
		return !h.one[first]
	}
	if raw[1] >= utf8.RuneSelf || raw[1] == '\'' {
		return false
	}
	return !h.two[int(first)<<8|int(asciiFold[raw[1]])]
}
