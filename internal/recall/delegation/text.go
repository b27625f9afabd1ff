package delegation

import (
	"slices"
	"sort"
	"unicode"
	"unicode/utf8"
)

// include appends a value to a list that does not have it.
func include[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// maxBytesPerToken is more than any tokenizer makes one token of.
const maxBytesPerToken = 24

// fit returns how many bytes of a text cost at most so many tokens, whole
// characters only.
func fit(count func(string) int, text string, tokens int) int {
	if tokens <= 0 {
		return 0
	}
	high := floor(text, tokens*maxBytesPerToken)
	return floor(text, sort.Search(high, func(i int) bool { return count(text[:floor(text, i+1)]) > tokens }))
}

// floor moves a position back to the start of a character.
func floor(text string, at int) int {
	at = max(0, min(at, len(text)))
	for back := 0; back < utf8.UTFMax && at > 0 && at < len(text) && !utf8.RuneStart(text[at]); back++ {
		at--
	}
	return at
}

// cutMark ends a text that was cut.
const cutMark = " […]"

// shorten cuts a text to a number of tokens, at the end of a word, and marks
// the cut.
func shorten(count func(string) int, text string, tokens int) (string, bool) {
	if count(text) <= tokens {
		return text, false
	}
	n := fit(count, text, tokens-count(cutMark)-1)
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
		n = floor(text, len(cut)*9/10)
		cut = text[:n]
	}
	return cut + cutMark, true
}
