package delegation

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/recall/lookup"
)

// include appends a value to a list that does not have it.
func include[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// cutMark ends a text that was cut.
const cutMark = " […]"

// shorten cuts a text to a number of tokens, at the end of a word, and marks
// the cut.
func shorten(count func(string) int, text string, tokens int) (string, bool) {
	if count(text) <= tokens {
		return text, false
	}
	n := lookup.Fit(count, text, tokens-count(cutMark)-1)
	cut := text[:n]
	for i := len(cut); i > len(cut)*3/4; {
		r, size := utf8.DecodeLastRuneInString(cut[:i])
		if unicode.IsSpace(r) {
			cut = cut[:i-size]
			break
		}
		i -= size
	}
	for n > 0 && count(cut+cutMark) > tokens { // a counter need not add up
		n = lookup.Boundary(text, len(cut)*9/10)
		cut = text[:n]
	}
	return cut + cutMark, true
}
