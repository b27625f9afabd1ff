package llms

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// This file is the package's own reader of JSON. A record is checked once, by
// check; everything after that walks bytes that are known to be one
// well-formed value, so the walkers below need no error paths and decoding
// costs little more than reading the bytes. Two things differ from
// encoding/json on purpose: bytes of a string that are not UTF-8 are kept as
// they are, and raw spans of the record can be handed on without being copied
// through a value.

// maxNesting bounds how deep a record may nest. It is the limit of
// encoding/json, so that every Extra can be read with it.
const maxNesting = 10_000

// maxDepth bounds the recursion over parts inside parts, in records and in
// values made in Go.
const maxDepth = 64

// SyntaxError reports where a record stops being JSON.
type SyntaxError struct {
	Offset int    // of the first byte that cannot be right
	Reason string // what is wrong there
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("llms: not valid JSON at byte %d: %s", e.Offset, e.Reason)
}

// plainByte says which bytes stand for themselves inside a string literal.
var plainByte = func() (t [256]bool) {
	for c := 0x20; c < 256; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// check reports the first error in b, which must be one JSON value. It keeps
// its own stack, so deep nesting costs memory in proportion and no recursion.
func check(b []byte) error {
	var room [maxDepth]byte
	stack := room[:0]
	i := space(b, 0)
	for {
		// At the start of a value.
		if i >= len(b) {
			return &SyntaxError{i, "the record ends where a value is expected"}
		}
		var err *SyntaxError
		if c := b[i]; c == '{' || c == '[' {
			if len(stack) == maxNesting {
				return &SyntaxError{i, "nested too deeply"}
			}
			j := space(b, i+1)
			if j < len(b) && b[j] == c+2 { // '}' and ']' follow their partner by two
				i = j + 1
			} else {
				stack = append(stack, c)
				if i = j; c == '{' {
					if i, err = checkKey(b, i); err != nil {
						return err
					}
				}
				continue
			}
		} else if i, err = checkScalar(b, i); err != nil {
			return err
		}
		// Just after a value: close what ends here, or go on to the next one.
		for {
			i = space(b, i)
			if len(stack) == 0 {
				if i < len(b) {
					return &SyntaxError{i, "there is more after the value"}
				}
				return nil
			}
			open := stack[len(stack)-1]
			if i >= len(b) {
				return &SyntaxError{i, "the record ends inside an object or array"}
			}
			if b[i] == open+2 {
				stack, i = stack[:len(stack)-1], i+1
				continue
			}
			if b[i] != ',' {
				return &SyntaxError{i, "expected a comma or the end of the object or array"}
			}
			if i = space(b, i+1); open == '{' {
				if i, err = checkKey(b, i); err != nil {
					return err
				}
			}
			break
		}
	}
}

// checkKey checks `"key" :` at b[i] and returns where the value starts.
func checkKey(b []byte, i int) (int, *SyntaxError) {
	if i >= len(b) || b[i] != '"' {
		return i, &SyntaxError{i, "expected a key in quotes"}
	}
	i, err := checkString(b, i)
	if err != nil {
		return i, err
	}
	if i = space(b, i); i >= len(b) || b[i] != ':' {
		return i, &SyntaxError{i, "expected a colon after the key"}
	}
	return space(b, i+1), nil
}

// checkScalar checks the string, number or word at b[i] and returns its end.
func checkScalar(b []byte, i int) (int, *SyntaxError) {
	switch c := b[i]; {
	case c == '"':
		return checkString(b, i)
	case c == '-' || '0' <= c && c <= '9':
		return checkNumber(b, i)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(b[i:], []byte(word)) {
			return i + len(word), nil
		}
	}
	return i, &SyntaxError{i, "expected a value"}
}

// checkString checks the string literal that opens at b[i].
func checkString(b []byte, i int) (int, *SyntaxError) {
	open := i
	for i++; ; i++ {
		if i = plainRun(b, i); i >= len(b) {
			return i, &SyntaxError{open, "a string that does not end"}
		}
		switch b[i] {
		case '"':
			return i + 1, nil
		case '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return i, &SyntaxError{i, "unknown escape in a string"}
			}
			i += n - 1
		default:
			return i, &SyntaxError{i, "control character in a string"}
		}
	}
}

// plainRun returns the index of the first byte at or after s[i] that does not
// stand for itself inside a string literal. It looks at eight bytes at a
// time, since nearly all of a record is such bytes.
func plainRun[T string | []byte](s T, i int) int {
	const (
		ones = 0x0101010101010101
		tops = 0x8080808080808080
	)
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		quote, slash := x^ones*'"', x^ones*'\\'
		// The top bit of a byte is set where it is below a space, a quote or
		// a backslash; borrows can only disturb the bytes above the first.
		if hit := ((x-ones*' ')&^x | (quote-ones)&^quote | (slash-ones)&^slash) & tops; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(s) && plainByte[s[i]] {
		i++
	}
	return i
}

// escapeLen returns the length of the escape at the start of b, 0 if it is
// not one.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if hex4(b[2:]) >= 0 {
			return 6
		}
	}
	return 0
}

// checkNumber checks the number at b[i] and returns its end.
func checkNumber(b []byte, i int) (int, *SyntaxError) {
	digits := func() bool {
		from := i
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return i, &SyntaxError{i, "a minus sign without a number"}
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return i, &SyntaxError{i, "a number that ends at its point"}
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return i, &SyntaxError{i, "a number without its exponent"}
		}
	}
	return i, nil
}

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
