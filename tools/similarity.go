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

// most is how much of a task another may repeat, and enough how many shingles
// a task must have for that to mean something: "fix it" is in many a task that
// is another.
const (
	most   = 0.9
	enough = 12
)

// similarity is the Jaccard index of the shingles of two texts, between 0 and
// 1. Case, punctuation and spacing do not count.
func similarity(a, b string) float64 {
	sa, sb := shingles(a), shingles(b)
	if len(sa) == 0 || len(sb) == 0 {
		return 0
	}
	common := inBoth(sa, sb)
	return float64(common) / float64(len(sa)+len(sb)-common)
}

// contains reports whether a task repeats another with words around it, which
// the Jaccard index does not notice.
func contains(task, other string) bool {
	of := shingles(other)
	return len(of) >= enough && float64(inBoth(of, shingles(task))) >= most*float64(len(of))
}

func inBoth(a, b map[string]bool) int {
	common := 0
	for s := range a {
		if b[s] {
			common++
		}
	}
	return common
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
