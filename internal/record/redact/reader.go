package redact

import (
	"bytes"
	"html"
	"strconv"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// reader reads a text as it would be shown, for tags: in lower case, with escapes
// decoded, wide and accented characters as plain ones, and without invisible ones.
type reader struct {
	text   []byte
	at     int
	width  int // bytes of the last character
	blanks int // skipped by skipBlanks
}

// What next returns for characters that are not ASCII; 0 is the end.
const (
	other     = 0x80
	invisible = 0xff
)

// next returns the next visible character, in ASCII; every blank is a space.
func (r *reader) next() byte {
	for r.at < len(r.text) {
		c, n := visible(r.text[r.at:])
		r.at, r.width = r.at+n, n
		if c != invisible {
			return c
		}
	}
	return 0
}

// visible returns the character that a text begins with, and its length.
func visible(text []byte) (byte, int) {
	c, n := rune(text[0]), 1
	switch {
	case c == '&':
		c, n = entity(text)
	case c == '%':
		c, n = percent(text)
	case c == '\\':
		c, n = escape(text)
	case c == '=':
		c, n = printable(text)
	case c >= utf8.RuneSelf:
		c, n = utf8.DecodeRune(text)
	}
	if c == 0x1b { // the colours of a terminal
		return invisible, n + controlSequence(text[n:])
	}
	return plain(c), n
}

// plain returns a character in ASCII.
func plain(c rune) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return byte(c | 0x20)
	case unicode.IsSpace(c) || c == '\u2800' || c == '\u3164': // braille and Hangul have blank ones
		return ' '
	case c < ' ' || c == 0x7f:
		return invisible
	case c < utf8.RuneSelf:
		return byte(c)
	case c == '\u2044' || c == '\u2215':
		return '/'
	case c == '‹' || c == '〈' || c == '⟨':
		return '<'
	case c == '›' || c == '〉' || c == '⟩':
		return '>'
	case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		return invisible
	}
	if d := norm.NFKD.String(string(c)); d[0] < utf8.RuneSelf {
		return plain(rune(d[0]))
	}
	return other
}

// printable decodes the quoted-printable text of a mail: a soft line break, or a sign of
// a tag.
func printable(text []byte) (rune, int) {
	for _, end := range []string{"=\n", "=\r\n"} {
		if bytes.HasPrefix(text, []byte(end)) {
			return 0, len(end)
		}
	}
	if len(text) > 2 {
		if c, ok := number(text[1:3], 16); ok && (c == '<' || c == '>' || c == '/') {
			return c, 3
		}
	}
	return '=', 1
}

// entity decodes an entity of HTML, also one whose & is an entity itself.
func entity(text []byte) (rune, int) {
	for at, level := 1, 0; level < maxNesting; level++ {
		end := bytes.IndexByte(text[at:min(len(text), at+10)], ';')
		if end < 0 {
			break
		}
		shown := html.UnescapeString("&" + string(text[at:at+end+1]))
		at += end + 1
		if shown == "&" {
			continue
		}
		if c, n := utf8.DecodeRuneInString(shown); n == len(shown) {
			return c, at
		}
		break
	}
	if len(text) > 2 && text[2]|0x20 == 't' { // &lt and &gt may lack their semicolon
		switch text[1] | 0x20 {
		case 'l':
			return '<', 3
		case 'g':
			return '>', 3
		}
	}
	return '&', 1
}

// percent decodes a character of a URL, also one whose % is encoded itself.
func percent(text []byte) (rune, int) {
	var c [utf8.UTFMax]byte
	at := 0
	for n := range c {
		if at >= len(text) || text[at] != '%' {
			break
		}
		at++
		for bytes.HasPrefix(text[at:], []byte("25")) {
			at += 2
		}
		v, ok := number(text[at:min(len(text), at+2)], 16)
		if !ok || len(text) < at+2 {
			break
		}
		at += 2
		c[n] = byte(v)
		if utf8.FullRune(c[:n+1]) {
			r, _ := utf8.DecodeRune(c[:n+1])
			return r, at
		}
	}
	return '%', 1
}

// escape decodes an escape of a string literal, also one whose backslash is escaped.
func escape(text []byte) (rune, int) {
	at := 0
	for at < len(text)-1 && at < 1<<maxNesting && text[at] == '\\' {
		at++
	}
	from, digits, base := at+1, 0, 16
	switch c := text[at]; {
	case c == 'u':
		digits = 4
	case c == 'x':
		digits = 2
	case '0' <= c && c <= '3':
		from, digits, base = at, 3, 8
	case c == 'e':
		return 0x1b, at + 1
	case c == 'n' || c == 'r' || c == 't':
		return ' ', at + 1
	case c < utf8.RuneSelf && !alnum[c] && c != '\\':
		return rune(c), at + 1
	}
	if digits > 0 && from+digits <= len(text) {
		if c, ok := number(text[from:from+digits], base); ok {
			return c, from + digits
		}
	}
	return '\\', 1
}

func number(digits []byte, base int) (rune, bool) {
	n, err := strconv.ParseUint(string(digits), base, 32)
	return rune(n), err == nil
}

// controlSequence returns the length of a terminal's control sequence after its
// escape character.
func controlSequence(text []byte) int {
	if len(text) == 0 || text[0] != '[' {
		return 0
	}
	n := 1
	for n < len(text) && n < 32 && text[n] < '@' {
		n++
	}
	return min(n+1, len(text))
}
