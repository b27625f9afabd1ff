package analysis

import (
	"slices"
	"strings"
)

// RawWords returns the words of a text, unfolded. Words that fold to nothing,
// such as a lone accent, are left out, as they are in the index.
func RawWords(text []byte) []Token {
	var out []Token
	runs := Spans{Text: text}
	for sp, ok := runs.Next(); ok; sp, ok = runs.Next() {
		start := len(out)
		out = Analyse(out, text, sp)
		out = append(out[:start], slices.DeleteFunc(out[start:], func(t Token) bool {
			return t.Whole() || !isAlphanumeric(t.Raw[0]) && PlainForm(t) == ""
		})...)
	}
	return out
}

// Holds reports whether a text has a run of words, one after the other.
func Holds(text []byte, run []string) bool {
	words := RawWords(text)
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
func (t Token) is(word string) bool {
	if c := t.Raw[0]; isAlphanumeric(c) && asciiFold[c] != word[0] {
		return false
	}
	return PlainForm(t) == word
}

// Begins reports whether the token's unstemmed form begins with the prefix.
func (t Token) Begins(prefix string) bool {
	if c := t.Raw[0]; isAlphanumeric(c) && asciiFold[c] != prefix[0] {
		return false
	}
	return strings.HasPrefix(PlainForm(t), prefix)
}
