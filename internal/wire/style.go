package wire

import "unicode/utf8"

// Style is the set of characters that a writer of JSON escapes although it need
// not. Stores keep the values, so they do not change.
//
// JSON.stringify, serde and Python with ensure_ascii=False write 0; Go's
// encoding/json writes EscapeHTML|EscapeLineBreaks, or EscapeLineBreaks
// alone; Python writes EscapeNonASCII|EscapeDelete; PHP writes
// EscapeNonASCII|EscapeSlash; Jackson adds UpperHex.
type Style uint8

// What a writer may escape although it need not.
const (
	EscapeHTML       Style = 1 << iota // <, > and & as \u003c, \u003e, \u0026
	EscapeLineBreaks                   // U+2028 and U+2029
	EscapeNonASCII                     // everything above U+007F
	EscapeDelete                       // U+007F
	EscapeSlash                        // / as \/
	UpperHex                           // \u001B in place of \u001b
	// Base64 says that the string is the standard base64 of the content.
	Base64
)

const (
	lowerDigits = "0123456789abcdef"
	upperDigits = "0123456789ABCDEF"
)

// short holds the two-character escapes of JSON.
var short = [256]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// appendQuoted appends s as a string literal in the plain style.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	return append(appendEscaped(dst, s, 0), '"')
}

// appendEscaped appends s as it stands between the quotes of a literal.
// Bytes that are not UTF-8 are written as they are.
func appendEscaped[T string | []byte](dst []byte, s T, style Style) []byte {
	if style &^= Base64; style != 0 {
		return appendStyled(dst, s, style)
	}
	for from := 0; ; from++ {
		i := plainRun(s, from)
		dst = append(dst, s[from:i]...)
		if i == len(s) {
			return dst
		}
		dst = style.appendEscape(dst, rune(s[i]))
		from = i
	}
}

// appendStyled is appendEscaped for the styles that escape more than they
// must.
func appendStyled[T string | []byte](dst []byte, s T, style Style) []byte {
	stops := style.stops()
	from := 0
	for i := 0; i < len(s); {
		if !stops[s[i]] {
			i++
			continue
		}
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if r == utf8.RuneError && size == 1 || style&EscapeNonASCII == 0 && r != 0x2028 && r != 0x2029 {
				i += size
				continue
			}
		}
		dst = append(dst, s[from:i]...)
		dst = style.appendEscape(dst, r)
		i += size
		from = i
	}
	return append(dst, s[from:]...)
}

// stops says at which bytes a character starts that the style may escape.
func (style Style) stops() (t [256]bool) {
	for c := range t {
		t[c] = !plainByte[c] || c >= utf8.RuneSelf && style&EscapeNonASCII != 0
	}
	t['<'], t['>'], t['&'] = style&EscapeHTML != 0, style&EscapeHTML != 0, style&EscapeHTML != 0
	t['/'] = style&EscapeSlash != 0
	t[0x7f] = style&EscapeDelete != 0
	if style&EscapeLineBreaks != 0 {
		t[0xe2] = true // the first byte of U+2028 and U+2029
	}
	return t
}

func (style Style) appendEscape(dst []byte, r rune) []byte {
	if r < 0x80 && short[r] != 0 {
		return append(dst, '\\', short[r])
	}
	if r == '/' {
		return append(dst, '\\', '/')
	}
	if r >= 0x10000 {
		r -= 0x10000
		dst = style.appendUnit(dst, 0xd800+r>>10)
		r = 0xdc00 + r&0x3ff
	}
	return style.appendUnit(dst, r)
}

func (style Style) appendUnit(dst []byte, r rune) []byte {
	digits := lowerDigits
	if style&UpperHex != 0 {
		digits = upperDigits
	}
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
