package analysis

import (
	"unicode"
	"unicode/utf8"
)

// A gram is three bytes of folded text, as a number.
type Trigram uint32

// TrigramCount is how many grams there are.
const TrigramCount = 1 << 24

// gramFold maps a rune to the least rune that simple case folding makes equal
// to it (in lower case for ASCII), so that one index serves case-sensitive and
// case-insensitive patterns: (?i)k must also find the Kelvin sign.
func gramFold(r rune) rune {
	if r < utf8.RuneSelf {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	if r >= 0x2E80 && r < 0xA640 { // Han, kana: no case
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	if least >= 'A' && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}

var asciiFold = func() (t [utf8.RuneSelf]byte) {
	for c := range t {
		t[c] = byte(gramFold(rune(c)))
	}
	return t
}()

// AppendTrigramText appends text folded for grams. A byte that is not UTF-8
// becomes U+FFFD, as a regular expression sees it.
func AppendTrigramText(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			dst = append(dst, asciiFold[c])
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		dst = utf8.AppendRune(dst, gramFold(r))
		i += size
	}
	return dst
}
