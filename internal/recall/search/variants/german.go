package variants

import "strings"

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
