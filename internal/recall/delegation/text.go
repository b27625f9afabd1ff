package delegation

import (
	"slices"
	"strings"
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

// words returns the part of a text between two bytes, in whole words: one that the cut
// goes through is left out, where the part has others.
func words(text string, start, end int) string {
	start, end = lookup.Boundary(text, start), lookup.Boundary(text, end)
	part := text[start:end]
	if start > 0 && !strings.ContainsAny(text[start-1:start], " \n\t") {
		if i := strings.IndexAny(part, " \n\t"); i >= 0 && i < len(part)/4 {
			part = part[i:]
		}
	}
	if end < len(text) && !strings.ContainsAny(text[end:end+1], " \n\t") {
		if i := strings.LastIndexAny(part, " \n\t"); i > len(part)*3/4 {
			part = part[:i]
		}
	}
	return strings.TrimSpace(part)
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
