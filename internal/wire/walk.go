package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"iter"
	"unicode/utf16"
	"unicode/utf8"
)

// The walkers of this file take bytes that check has passed.

// space returns the index of the first byte at or after b[i] that is not
// white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skip returns the index just after the value that starts at b[i].
func skip(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for {
			switch b[i] {
			case '"':
				i = skipString(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	return i
}

// skipString returns the index just after the string literal at b[i]. A quote
// ends it when an even number of backslashes stands before it.
func skipString(b []byte, i int) int {
	for i++; ; {
		i += bytes.IndexByte(b[i:], '"') + 1
		slash := i - 2
		for b[slash] == '\\' {
			slash--
		}
		if (i-slash)%2 == 0 {
			return i
		}
	}
}

// members ranges over the members of the object obj: the key as it is written
// between its quotes, and the value.
func members(obj []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, val []byte) bool) {
		i := space(obj, 0)
		if i >= len(obj) || obj[i] != '{' {
			return
		}
		for i = space(obj, i+1); obj[i] != '}'; {
			end := skipString(obj, i)
			key := obj[i+1 : end-1]
			from := space(obj, space(obj, end)+1)
			i = skip(obj, from)
			if !yield(key, obj[from:i:i]) {
				return
			}
			if i = space(obj, i); obj[i] == ',' {
				i = space(obj, i+1)
			}
		}
	}
}

// elements ranges over the elements of the array arr.
func elements(arr []byte) iter.Seq[[]byte] {
	return func(yield func(val []byte) bool) {
		i := space(arr, 0)
		if i >= len(arr) || arr[i] != '[' {
			return
		}
		for i = space(arr, i+1); arr[i] != ']'; {
			from := i
			i = skip(arr, from)
			if !yield(arr[from:i:i]) {
				return
			}
			if i = space(arr, i); arr[i] == ',' {
				i = space(arr, i+1)
			}
		}
	}
}

// slot is a member that a decoder looks for, and its value once found.
type slot struct {
	name string
	val  []byte
}

func (s slot) is(first byte) bool { return len(s.val) > 0 && s.val[0] == first }
func (s slot) str() string        { return unquote(s.val) }

// pick fills the slots from the members of obj (the last one of a name wins,
// as everywhere) and returns an object of the members that have no slot, nil
// if there are none. The member "type" is left out of it.
func pick(obj []byte, slots []slot) json.RawMessage {
	var extra []byte
next:
	for key, val := range members(obj) {
		for k := range slots {
			if slots[k].name == string(plainKey(key)) {
				slots[k].val = val
				continue next
			}
		}
		if string(plainKey(key)) != "type" {
			extra = appendMember(extra, key, val)
		}
	}
	return closeObject(extra)
}

// plainKey returns the name that a key spells.
func plainKey(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key
	}
	return unescape(nil, key)
}

// appendMember adds a member to an object under construction; key is written
// as it would stand between its quotes.
func appendMember(obj, key, val []byte) []byte {
	if len(obj) == 0 {
		obj = append(obj, '{')
	} else {
		obj = append(obj, ',')
	}
	obj = append(append(append(obj, '"'), key...), '"', ':')
	return append(obj, val...)
}

func closeObject(obj []byte) json.RawMessage {
	if len(obj) == 0 {
		return nil
	}
	return append(obj, '}')
}

// member returns the value of the member called name, nil if there is none.
func member(obj []byte, name string) (val []byte) {
	for key, v := range members(obj) {
		if string(plainKey(key)) == name {
			val = v
		}
	}
	return val
}

// unquote returns what the string literal lit says, "" if it is something
// else.
func unquote(lit []byte) string {
	if len(lit) < 2 || lit[0] != '"' {
		return ""
	}
	lit = lit[1 : len(lit)-1]
	if bytes.IndexByte(lit, '\\') < 0 {
		return string(lit)
	}
	return string(unescape(make([]byte, 0, len(lit)), lit))
}

// unescape appends the meaning of the inside of a string literal to dst.
func unescape(dst, lit []byte) []byte {
	for {
		n := bytes.IndexByte(lit, '\\')
		if n < 0 {
			return append(dst, lit...)
		}
		dst = append(dst, lit[:n]...)
		c := lit[n+1]
		lit = lit[n+2:]
		switch c {
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
			r := hex4(lit)
			lit = lit[4:]
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if len(lit) >= 6 && lit[0] == '\\' && lit[1] == 'u' {
					pair = utf16.DecodeRune(r, hex4(lit[2:]))
				}
				if r = pair; r != utf8.RuneError {
					lit = lit[6:]
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
}

// hex4 reads four hexadecimal digits, -1 if they are not there.
func hex4(b []byte) rune {
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

// fromBase64 decodes s if it is exactly what standard base64 writes.
func fromBase64(s string) ([]byte, bool) {
	data, err := base64.StdEncoding.Strict().DecodeString(s)
	// The decoder skips line breaks, which would not come back.
	if err != nil || base64.StdEncoding.EncodedLen(len(data)) != len(s) {
		return nil, false
	}
	return data, true
}
