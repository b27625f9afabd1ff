package analysis

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed common.txt
var commonText string

// common are the stems of common.txt.
var common = sync.OnceValue(func() map[string]bool {
	set := make(map[string]bool)
	for line := range strings.Lines(commonText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for w := range strings.FieldsSeq(line) {
			set[LightStem(w)] = true
		}
	}
	return set
})

// IsCommon reports whether a word, folded, is a common one that does not tell what a
// text is about: a verb, an adverb, a general noun of English or German.
func IsCommon(word string) bool {
	if IsStopWord(word) || common()[LightStem(word)] {
		return true
	}
	for _, set := range otherStops() {
		if set[word] {
			return true
		}
	}
	// A German participle: gewahlt, angelegt.
	before, after, ok := strings.Cut(word, "ge")
	return ok && len(before) <= 4 && len(after) >= 4 && (common()[LightStem(before+strings.TrimSuffix(after, "t")+"en")] || common()[LightStem(before+after)])
}

// LightStem is the stem of a folded word without the endings of German, for
// comparing words of two texts. The index does not have these.
func LightStem(word string) string {
	s := string(PlainTerm([]byte(word)))
	for _, ending := range []string{"en", "er", "em", "es", "e", "n"} {
		if cut, ok := strings.CutSuffix(s, ending); ok && len(cut) >= 4 {
			return cut
		}
	}
	return s
}
