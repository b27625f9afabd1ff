// Package jsonstring decodes JSON string literals without validating the rest of a
// document, and encodes values without escaping HTML. Unlike encoding/json it keeps
// bytes of literals that are not UTF-8.
package jsonstring

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// Unescape appends the decoded inside of a string literal to dst. It returns false if an
// escape is invalid.
func Unescape(dst, lit []byte) ([]byte, bool) {
	for {
		n := bytes.IndexByte(lit, '\\')
		if n < 0 {
			return append(dst, lit...), true
		}
		dst = append(dst, lit[:n]...)
		if n+1 == len(lit) {
			return dst, false
		}
		c := lit[n+1]
		lit = lit[n+2:]
		switch c {
		case '"', '\\', '/':
			dst = append(dst, c)
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			r := Hex4(lit)
			if r < 0 {
				return dst, false
			}
			lit = lit[4:]
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if len(lit) >= 6 && lit[0] == '\\' && lit[1] == 'u' {
					pair = utf16.DecodeRune(r, Hex4(lit[2:]))
				}
				if r = pair; r != utf8.RuneError {
					lit = lit[6:]
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			return dst, false
		}
	}
}

// Hex4 decodes four hexadecimal digits, or returns -1.
func Hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// Marshal encodes a value as JSON on one line, with <, > and & as they are.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
