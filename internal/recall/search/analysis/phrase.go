package analysis

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"
)

// Holds reports whether a text has a run of words, one after the other. It looks
// for the letters of the words with nothing but other characters around them,
// and cuts only the text around such a place into words: to cut all texts with
// the words of a phrase took a third of the time of its search. Letters beyond
// ASCII may fold to any: a text with one is cut whole, while dashes, quotes,
// emoji and ideographs are no part of an ASCII word.
func Holds(text []byte, run []string) bool {
	ascii, words := asciiOf(text)
	for _, w := range run {
		other := strings.ContainsFunc(w, func(r rune) bool { return r >= utf8.RuneSelf })
		if other && ascii {
			return false
		}
		// The end of a clipped word is not known.
		words = words && !other && len(w) < MaxTermBytes
	}
	if !words {
		return ContainsRun(RawWords(text), run)
	}
	first := run[0][0]
	for i, c := range text {
		if c >= utf8.RuneSelf || asciiFold[c] != first || i > 0 && continues(text[i-1], c) {
			continue
		}
		if n, ok := holdsAt(text[i:], run); ok {
			const space = " \n\t\r"
			from, to := bytes.LastIndexAny(text[:i], space)+1, i+n
			if end := bytes.IndexAny(text[to:], space); end >= 0 {
				to += end
			} else {
				to = len(text)
			}
			if ContainsRun(RawWords(text[from:to]), run) {
				return true
			}
		}
	}
	return false
}

// asciiOf reports whether all of a text is ASCII, and whether all letters and
// digits of its words are.
func asciiOf(text []byte) (all, words bool) {
	all = true
	for i := 0; i < len(text); i++ {
		if i+8 <= len(text) && binary.LittleEndian.Uint64(text[i:])&0x8080808080808080 == 0 {
			i += 7
			continue
		}
		if text[i] < utf8.RuneSelf {
			continue
		}
		all = false
		r, size := utf8.DecodeRune(text[i:])
		if classOf(r) == classWord {
			return false, false
		}
		i += size - 1
	}
	return all, true
}

// continues reports that a character goes on with the word of the one before
// it: parts of an identifier begin with capitals or after underscores.
func continues(before, c byte) bool {
	return isAlphanumeric(before) && (isLower(c) || isDigit(c))
}

// holdsAt reports whether a text begins with the letters of the words, and the
// size of that beginning.
func holdsAt(text []byte, run []string) (int, bool) {
	rest := text
	for _, w := range run {
		rest = skipOther(rest)
		n, ok := matchLetters(rest, w)
		if !ok || n < len(rest) && continues(rest[n-1], rest[n]) {
			return 0, false
		}
		rest = rest[n:]
	}
	return len(text) - len(rest), true
}

// skipOther skips a possessive and all that is no letter or digit.
func skipOther(text []byte) []byte {
	if n := apostrophe(text); n > 0 {
		rest := text[n:]
		if len(rest) > 0 && (rest[0] == 's' || rest[0] == 'S') && (len(rest) == 1 || !isLower(rest[1]) && !isDigit(rest[1])) {
			text = rest[1:]
		}
	}
	for len(text) > 0 && !isAlphanumeric(text[0]) {
		text = text[1:]
	}
	return text
}

// matchLetters matches a word without regard to case, or to the apostrophes and
// underscores that its folded form has lost or kept.
func matchLetters(text []byte, word string) (int, bool) {
	at := 0
	for i := range len(word) {
		for n := apostrophe(text[at:]); n > 0; n = apostrophe(text[at:]) {
			at += n
		}
		if at == len(text) || text[at] >= utf8.RuneSelf || asciiFold[text[at]] != word[i] {
			return 0, false
		}
		at++
	}
	return at, true
}

// apostrophe is the size of the apostrophe, straight or curved, that a text
// begins with, or zero.
func apostrophe(text []byte) int {
	switch {
	case len(text) > 0 && text[0] == '\'':
		return 1
	case len(text) > 2 && text[0] == 0xE2 && text[1] == 0x80 && text[2] == 0x99:
		return 3
	}
	return 0
}

// RawWords returns the words of a text, unfolded. Words that fold to nothing,
// such as a lone accent, are left out, as they are in the index.
func RawWords(text []byte) []Token {
	var out []Token
	runs := Spans{Text: text}
	for sp, ok := runs.Next(); ok; sp, ok = runs.Next() {
		start := len(out)
		out = Analyse(out, text, sp)
		out = append(out[:start], slices.DeleteFunc(out[start:], func(t Token) bool {
			return t.Whole() || !isAlphanumeric(t.Raw[0]) && PlainForm(t) == ""
		})...)
	}
	return out
}

// ContainsRun reports whether the words have a run of others among them.
func ContainsRun(words []Token, run []string) bool {
	for i := 0; i+len(run) <= len(words); i++ {
		n := 0
		for n < len(run) && words[i+n].is(run[n]) {
			n++
		}
		if n == len(run) {
			return true
		}
	}
	return false
}

// is reports whether the token's unstemmed form is the word. Nearly all tokens
// differ in their first letter, which is told without folding them.
func (t Token) is(word string) bool {
	if c := t.Raw[0]; isAlphanumeric(c) && asciiFold[c] != word[0] {
		return false
	}
	return PlainForm(t) == word
}

// Begins reports whether the token's unstemmed form begins with the prefix.
func (t Token) Begins(prefix string) bool {
	if c := t.Raw[0]; isAlphanumeric(c) && asciiFold[c] != prefix[0] {
		return false
	}
	return strings.HasPrefix(PlainForm(t), prefix)
}
