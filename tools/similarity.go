package tools

import (
	"strings"
	"unicode"
)

// tooSimilar is the likeness at which two tasks count as the same.
const tooSimilar = 0.8

// shingleLength is in characters rather than words, so that scripts without
// spaces are compared as well as others.
const shingleLength = 5

// similarity is the Jaccard index of the shingles of two texts, between 0 and
// 1. Case, punctuation and spacing do not count.
func similarity(a, b string) float64 {
	sa, sb := shingles(a), shingles(b)
	if len(sa) == 0 || len(sb) == 0 {
		return 0
	}
	common := 0
	for s := range sa {
		if sb[s] {
			common++
		}
	}
	return float64(common) / float64(len(sa)+len(sb)-common)
}

func shingles(text string) map[string]bool {
	letters := []rune(strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}), " "))
	set := map[string]bool{}
	if len(letters) > 0 && len(letters) < shingleLength {
		set[string(letters)] = true
	}
	for i := 0; i+shingleLength <= len(letters); i++ {
		set[string(letters[i:i+shingleLength])] = true
	}
	return set
}
