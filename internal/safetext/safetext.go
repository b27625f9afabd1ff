// Package safetext writes stored text the way it may be shown to a model or on
// a terminal. Stored text is untrusted: it may carry escape sequences, marks
// that reorder a line, characters that nobody sees and characters that look
// like a space. What a person reads and what a program reads would then be two
// texts.
//
// Every rune falls into one of four classes:
//
//   - Control characters, marks that reorder text, characters that look blank
//     and are none, and bytes that are not UTF-8 are written as escapes: \x1b,
//     \u202e, \u2800.
//   - Spaces of all widths, and line and paragraph separators, become a space.
//   - Characters that are not seen and do nothing but shape their neighbours
//     (variation selectors, joiners, tags, soft hyphens) are left out.
//   - Everything else stays.
package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns text of several lines: line breaks and tabs stay.
func Text(text string) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == '\r' && strings.HasPrefix(text, "\r\n"):
			// The line break that follows says it all.
		case Escaped(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case Escaped(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		case unicode.IsSpace(r) || unicode.Is(unicode.Z, r):
			b.WriteByte(' ')
		case Unseen(r):
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// Line returns text that stays on one line: line breaks and tabs become spaces.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, Text(text))
}

// Same reports whether a text is shown as it is, on one line.
func Same(text string) bool { return Line(text) == text }

// plain reports whether a text is of printable ASCII and line breaks, as most
// are.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// Escaped reports whether a character is written as an escape: one that a
// terminal acts upon, that reorders text, or that looks blank.
func Escaped(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || blank(r)
}

// blank are characters that are letters or symbols by their class and show
// nothing: a file name of them could not be seen.
func blank(r rune) bool {
	switch r {
	case '\u115f', '\u1160', '\u3164', '\uffa0', // Hangul fillers
		'\u17b4', '\u17b5', // Khmer inherent vowels
		'\u2800', // the empty Braille pattern
		'\u180e': // the Mongolian vowel separator
		return true
	}
	return false
}

// Unseen reports whether a character is left out: it is not seen, and shapes
// its neighbours at most.
func Unseen(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Noncharacter_Code_Point, r)
}
