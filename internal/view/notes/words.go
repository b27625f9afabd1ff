package notes

import (
	"strings"
	"unicode"
)

// spaceless reports whether r belongs to a script that is written without
// spaces between words, where pairs of characters stand in for words.
func spaceless(r rune) bool {
	switch {
	case r < 0x0e00:
		return false
	case r < 0x1100: // Thai, Lao, Tibetan, Myanmar
		return unicode.In(r, unicode.Thai, unicode.Lao, unicode.Myanmar)
	case r < 0x3040:
		return r >= 0x1780 && r < 0x1800 || r >= 0x2e80 && r < 0x2fe0 || r == 0x3005 || r == 0x3007 // Khmer, radicals
	case r < 0x3100: // kana
		return true
	case r < 0xa000: // bopomofo, Han
		return unicode.Is(unicode.Han, r) || unicode.Is(unicode.Bopomofo, r) || r >= 0x31f0 && r < 0x3200
	case r < 0xac00:
		return false
	case r < 0xd7b0: // Hangul syllables: spaces, but endings glued to stems
		return true
	}
	return r >= 0xf900 && r < 0xfb00 || r >= 0xff66 && r < 0xffa0 || r >= 0x20000 && r < 0x323b0
}

func stringSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}
