package index

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// satisfied checks what postings cannot: quoted phrases, in their order and
// unstemmed, and required or excluded beginnings of words.
func (q *Query) satisfied(text []byte) bool {
	if !q.verifies() {
		return true
	}
	for _, ph := range q.phrases {
		if ph.must && !mayHold(text, ph.words) {
			return false
		}
	}
	words := rawWords(text)
	for _, ph := range q.phrases {
		if (ph.must || ph.not) && containsRun(words, ph.words) == ph.not {
			return false
		}
	}
	return q.prefixesSatisfied(words)
}

// verifies reports whether what is found must be checked against its text.
func (q *Query) verifies() bool {
	return slices.ContainsFunc(q.phrases, func(p phrase) bool { return p.must || p.not }) ||
		slices.ContainsFunc(q.terms, func(t queryTerm) bool { return t.prefix != "" })
}

// preferred is the weight of the phrases that a text has without being required
// to.
func (q *Query) preferred(text []byte, idf []float64) float64 {
	sum := 0.0
	var words []token
	for _, ph := range q.phrases {
		if ph.must || ph.not {
			continue
		}
		if !mayHold(text, ph.words) {
			continue
		}
		if words == nil {
			words = rawWords(text)
		}
		if containsRun(words, ph.words) {
			for _, n := range ph.terms {
				sum += idf[n]
			}
		}
	}
	return sum
}

// prefixesSatisfied also refuses a text that was found only through a stem too
// short to tell.
func (q *Query) prefixesSatisfied(words []token) bool {
	optional, others := 0, false
	has := false
	for _, t := range q.terms {
		if t.prefix == "" {
			others = others || !t.not
			continue
		}
		present := slices.ContainsFunc(words, func(w token) bool { return w.begins(t.prefix) })
		if t.must && !present || t.not && present {
			return false
		}
		if !t.not {
			optional++
			has = has || present
		}
	}
	return optional == 0 || has || others
}

// rawWords returns the words of a text, unfolded.
func rawWords(text []byte) []token {
	var out []token
	runs := spans{text: text}
	for sp, ok := runs.next(); ok; sp, ok = runs.next() {
		start := len(out)
		out = analyse(out, text, sp)
		out = append(out[:start], slices.DeleteFunc(out[start:], token.whole)...)
	}
	return out
}

func containsRun(words []token, run []string) bool {
	for i := 0; i+len(run) <= len(words); i++ {
		n := 0
		for n < len(run) && words[i+n].is(run[n]) {
			n++
		}
		if n == len(run) {
			return true
		}
	}
	return false
}

// is reports whether the token's unstemmed form is the word. Nearly all tokens
// differ in their first letter, which is told without folding them.
func (t token) is(word string) bool {
	if c := t.raw[0]; c < utf8.RuneSelf && asciiFold[c] != word[0] {
		return false
	}
	return plainForm(t) == word
}

// begins reports whether the token's unstemmed form begins with the prefix.
func (t token) begins(prefix string) bool {
	if c := t.raw[0]; c < utf8.RuneSelf && asciiFold[c] != prefix[0] {
		return false
	}
	return strings.HasPrefix(plainForm(t), prefix)
}
