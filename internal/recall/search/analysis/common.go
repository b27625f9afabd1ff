package analysis

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed common.txt
var commonText string

// common are the words of common.txt: the stems of English, and German without endings.
var common = sync.OnceValue(func() (sets struct{ english, german map[string]bool }) {
	english, german, _ := strings.Cut(commonText, "# German\n")
	sets.english, sets.german = make(map[string]bool), make(map[string]bool)
	for w := range strings.FieldsSeq(english) {
		sets.english[string(PlainTerm([]byte(w)))] = true
	}
	for w := range strings.FieldsSeq(german) {
		sets.german[withoutEnding(w)] = true
	}
	return sets
})

// IsGerman reports that more words of a question, folded, are common in German than in
// English.
func IsGerman(question []string) bool {
	sets, n := common(), 0
	for _, w := range question {
		if sets.german[withoutEnding(w)] || otherStops()[0][w] {
			n++
		}
		if sets.english[string(PlainTerm([]byte(w)))] || IsStopWord(w) {
			n--
		}
	}
	return n > 0
}

// IsCommon reports whether a word, folded, is a common one that does not tell what a
// text is about: a verb, an adverb, a general noun of English or German.
func IsCommon(word string) bool {
	sets := common()
	if IsStopWord(word) || sets.english[string(PlainTerm([]byte(word)))] || sets.german[withoutEnding(word)] {
		return true
	}
	for _, set := range otherStops() {
		if set[word] {
			return true
		}
	}
	for _, ending := range []string{"t", "te", "ten"} { // of a German verb: fehlt, meldete
		if cut, ok := strings.CutSuffix(word, ending); ok && len(cut) >= 4 && sets.german[withoutEnding(cut)] {
			return true
		}
	}
	// A German participle: gewahlt, angelegt.
	before, after, ok := strings.Cut(word, "ge")
	return ok && len(before) <= 4 && len(after) >= 4 && (sets.german[withoutEnding(before+strings.TrimSuffix(after, "t"))] || sets.german[withoutEnding(before+after)])
}

// LightStem is the stem of a folded word without the endings of German, for
// comparing words of two texts. The index does not have these.
func LightStem(word string) string { return withoutEnding(string(PlainTerm([]byte(word)))) }

func withoutEnding(word string) string {
	for _, ending := range []string{"en", "er", "em", "es", "e", "n"} {
		if cut, ok := strings.CutSuffix(word, ending); ok && len(cut) >= 4 {
			return cut
		}
	}
	return word
}
