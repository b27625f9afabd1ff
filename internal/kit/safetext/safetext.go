// Package safetext makes stored text safe to show to a model or on a terminal.
// Stored text is untrusted: it may contain escape sequences, marks that reorder a
// line, invisible characters and characters that look like a space. A person and a
// program would then read two different texts.
//
// Every rune falls into one of four classes:
//
//   - Control characters, marks that reorder text, characters that only look blank,
//     and bytes that are not UTF-8 become escapes: \x1b, \u202e, \u2800.
//   - Spaces of all widths, and line and paragraph separators, become a space.
//   - Invisible characters that only shape their neighbours (variation selectors,
//     joiners, tags, soft hyphens) are removed.
//   - All others stay.
package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text makes text of several lines safe: line breaks and tabs stay.
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
			// The line break that follows stands for both.
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

// Line makes text safe on one line: line breaks and tabs become spaces.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, Text(text))
}

// Same reports whether Line does not change a text.
func Same(text string) bool { return Line(text) == text }

// plain reports whether a text consists of printable ASCII and line breaks, as most
// texts do.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// Escaped reports whether a character becomes an escape: a terminal acts on it, it
// reorders text, or it looks blank.
func Escaped(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || blank(r)
}

// blank reports characters that are letters or symbols by class but show nothing:
// a file name of them would be invisible.
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

// Unseen reports whether a character is removed: it is invisible and only shapes
// its neighbours.
func Unseen(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Noncharacter_Code_Point, r)
}
