package analysis

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed common.txt
var commonText string

// common are the words of common.txt: the stems of English and of German.
var common = sync.OnceValue(func() (sets struct{ english, german map[string]bool }) {
	english, german, _ := strings.Cut(commonText, "# German\n")
	sets.english, sets.german = make(map[string]bool), make(map[string]bool)
	for w := range strings.FieldsSeq(english) {
		sets.english[string(PlainTerm([]byte(w)))] = true
	}
	for w := range strings.FieldsSeq(german) {
		sets.german[GermanStem(w)] = true
	}
	return sets
})

// IsGerman reports that more words of a question, folded, are common in German than in
// English.
func IsGerman(question []string) bool {
	sets, n := common(), 0
	for _, w := range question {
		if sets.german[GermanStem(w)] || otherStops()[0][w] {
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
	if IsStopWord(word) || sets.english[string(PlainTerm([]byte(word)))] || sets.german[GermanStem(word)] {
		return true
	}
	for _, set := range otherStops() {
		if set[word] {
			return true
		}
	}
	return false
}

// LightStem is the stem of a folded word of English or German, for comparing words of
// two texts. The index does not have these.
func LightStem(word string) string { return GermanStem(string(PlainTerm([]byte(word)))) }

// minGermanStem is the least length of the stem of a German word in bytes.
const minGermanStem = 4

// GermanStem is a folded German word without its endings and the prefix of its participle:
// Artikel and Artikeln, Nachricht and Nachrichten, runden and gerundet, Sicherung and
// gesichert have one stem each. Words without vowel changes alone are brought together.
func GermanStem(word string) string {
	stem := word
	for cut := true; cut; {
		cut = false
		for _, ending := range []string{"ung", "isier", "e", "n", "s", "t"} {
			if rest, ok := strings.CutSuffix(stem, ending); ok && len(rest) >= minGermanStem {
				stem, cut = rest, true
			}
		}
	}
	if rest, ok := strings.CutPrefix(stem, "ge"); ok && stem != word && len(rest) >= minGermanStem {
		return rest
	}
	return stem
}
