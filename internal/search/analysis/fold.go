package analysis

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// WordTerm folds and stems one word into dst.
func WordTerm(dst, raw []byte) []byte { return PlainTerm(PlainWord(dst, raw)) }

// PlainWord folds one word into dst. It is not stemmed.
func PlainWord(dst, raw []byte) []byte { return clip(withoutApostrophes(appendFold(dst, raw))) }

// PlainTerm stems a folded word. The word's memory is reused.
func PlainTerm(word []byte) []byte {
	if base, ok := irregular()[string(word)]; ok {
		word = append(word[:0], base...)
	}
	return Stem(word)
}

// withoutApostrophes drops a possessive 's and all other apostrophes: Anna's is
// anna, don't is dont.
func withoutApostrophes(word []byte) []byte {
	n := len(word)
	if n > 2 && word[n-1] == 's' && word[n-2] == '\'' {
		word = word[:n-2]
	}
	out := word[:0]
	for _, c := range word {
		if c != '\'' {
			out = append(out, c)
		}
	}
	return out
}

// clip cuts a term to its greatest length without parting a rune.
func clip(term []byte) []byte {
	if len(term) <= MaxTermBytes {
		return term
	}
	n := MaxTermBytes
	for n > 0 && !utf8.RuneStart(term[n]) {
		n--
	}
	return term[:n]
}

// fold returns a new slice with letters in lower case, compatibility forms
// (full-width letters, ligatures) in their plain form and Latin, Greek and
// Cyrillic letters without their diacritics.
func fold(raw []byte) []byte { return appendFold(make([]byte, 0, len(raw)), raw) }

func appendFold(dst, raw []byte) []byte {
	for i, c := range raw {
		if c >= utf8.RuneSelf {
			return appendFoldUnicode(dst, raw[i:])
		}
		dst = append(dst, asciiFold[c])
	}
	return dst
}

func appendFoldUnicode(dst, raw []byte) []byte {
	rest := norm.NFKD.Bytes(raw)
	for len(rest) > 0 {
		r, size := utf8.DecodeRune(rest)
		rest = rest[size:]
		switch {
		case r >= 0x0300 && r <= 0x036F, r == 0x200D, r >= 0xFE00 && r <= 0xFE0F:
		case r == '’':
			dst = append(dst, '\'')
		default:
			r = unicode.ToLower(r)
			if plain, ok := undecomposed[r]; ok {
				dst = append(dst, plain...)
				continue
			}
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// undecomposed are Latin letters whose marks Unicode does not take apart.
var undecomposed = map[rune]string{
	'ø': "o", 'ł': "l", 'đ': "d", 'ħ': "h", 'ŧ': "t", 'ı': "i", 'ß': "ss", 'æ': "ae", 'œ': "oe", 'þ': "th", 'ð': "d",
}
