package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"iter"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
)

// The walkers of this file take bytes that Check has passed.

// Space returns the index of the first byte at or after b[i] that is not
// white space.
func Space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// End returns the index just after the value that starts at b[i], in valid JSON.
func End(b []byte, i int) int {
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
		i := Space(obj, 0)
		if i >= len(obj) || obj[i] != '{' {
			return
		}
		for i = Space(obj, i+1); obj[i] != '}'; {
			end := skipString(obj, i)
			key := obj[i+1 : end-1]
			from := Space(obj, Space(obj, end)+1)
			i = End(obj, from)
			if !yield(key, obj[from:i:i]) {
				return
			}
			if i = Space(obj, i); obj[i] == ',' {
				i = Space(obj, i+1)
			}
		}
	}
}

// Elements ranges over the raw values of the array arr, which must be valid JSON; any other
// value has none. They are parts of the array, not copies.
func Elements(arr []byte) iter.Seq[[]byte] {
	return func(yield func(val []byte) bool) {
		i := Space(arr, 0)
		if i >= len(arr) || arr[i] != '[' {
			return
		}
		for i = Space(arr, i+1); arr[i] != ']'; {
			from := i
			i = End(arr, from)
			if !yield(arr[from:i:i]) {
				return
			}
			if i = Space(arr, i); arr[i] == ',' {
				i = Space(arr, i+1)
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
func (s slot) str() string        { return Unquote(s.val) }

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

// Unquote returns the text of a string literal, "" for any other value.
func Unquote(lit []byte) string {
	if len(lit) < 2 || lit[0] != '"' {
		return ""
	}
	lit = lit[1 : len(lit)-1]
	if bytes.IndexByte(lit, '\\') < 0 {
		return string(lit)
	}
	return string(unescape(make([]byte, 0, len(lit)), lit))
}

// unescape appends the decoded inside of a string literal of valid JSON to dst.
func unescape(dst, lit []byte) []byte {
	dst, _ = jsonstring.Unescape(dst, lit)
	return dst
}

// fromBase64 decodes s if an encoder of standard base64 would write it.
func fromBase64(s string) ([]byte, bool) {
	data, err := base64.StdEncoding.Strict().DecodeString(s)
	// The decoder skips line breaks, which would not come back.
	if err != nil || base64.StdEncoding.EncodedLen(len(data)) != len(s) {
		return nil, false
	}
	return data, true
}
