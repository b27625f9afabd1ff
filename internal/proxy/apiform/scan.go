package apiform

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
)

// errShape says that a body is not of the form that its path promises.
var errShape = errors.New("the request has an unknown shape")

func shapeError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errShape, fmt.Sprintf(format, args...))
}

// maxDepth bounds how deep a body may nest.
const maxDepth = 512

// space returns the index of the first byte at or after b[i] that is not white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the index after the string literal that begins at b[i], or -1.
func stringEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n + 1
		slash := i - 2
		for b[slash] == '\\' {
			slash--
		}
		if (i-slash)%2 == 0 {
			return i
		}
	}
	return -1
}

// valueEnd returns the index after the value that begins at b[i], or -1. It checks
// that brackets match, not that the value is valid in every detail.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return bracketEnd(b, i)
	}
	from := i
	for i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] != '"' && b[i] != '{' && b[i] != '[' && b[i] != ':' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

func bracketEnd(b []byte, i int) int {
	var stack [maxDepth]byte
	depth := 0
	for i < len(b) {
		switch c := b[i]; c {
		case '"':
			if i = stringEnd(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			if depth == maxDepth {
				return -1
			}
			stack[depth] = c + 2 // '}' and ']' follow their partner by two
			depth++
		case '}', ']':
			if depth--; depth < 0 || stack[depth] != c {
				return -1
			}
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// eachMember calls fn with the key and the range of the value of each member of the
// object that begins at b[i], and returns the index after the object. A key with an
// escape or a second member of the same name is an error: programs read such an
// object in different ways. fn returns the end of the value if it has read it, else
// 0.
func eachMember(b []byte, i int, fn func(key string, at int) (end int, err error)) (int, error) {
	if i >= len(b) || b[i] != '{' {
		return 0, shapeError("expected an object")
	}
	var seen [16]string
	keys := seen[:0]
	for i = space(b, i+1); i < len(b) && b[i] != '}'; {
		end := stringEnd(b, i)
		if end < 0 {
			return 0, shapeError("expected a key")
		}
		name := b[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			return 0, shapeError("an escaped key")
		}
		key := string(name)
		for _, k := range keys {
			if k == key {
				return 0, shapeError("two members called %.40q", key)
			}
		}
		keys = append(keys, key)
		if i = space(b, end); i >= len(b) || b[i] != ':' {
			return 0, shapeError("expected a colon")
		}
		at := space(b, i+1)
		end, err := fn(key, at)
		if err != nil {
			return 0, err
		}
		if end == 0 {
			end = valueEnd(b, at)
		}
		if end < 0 {
			return 0, shapeError("the value of %.40q does not end", key)
		}
		if i, err = next(b, end, '}'); err != nil {
			return 0, err
		}
	}
	if i >= len(b) {
		return 0, shapeError("an object does not end")
	}
	return i + 1, nil
}

// eachElement calls fn with the index of each element of the array that begins at
// b[i], as eachMember does, and returns the index after the array.
func eachElement(b []byte, i int, fn func(at int) (end int, err error)) (int, error) {
	if i >= len(b) || b[i] != '[' {
		return 0, shapeError("expected an array")
	}
	for i = space(b, i+1); i < len(b) && b[i] != ']'; {
		end, err := fn(i)
		if err != nil {
			return 0, err
		}
		if end == 0 {
			end = valueEnd(b, i)
		}
		if end < 0 {
			return 0, shapeError("an element does not end")
		}
		if i, err = next(b, end, ']'); err != nil {
			return 0, err
		}
	}
	if i >= len(b) {
		return 0, shapeError("an array does not end")
	}
	return i + 1, nil
}

// next returns the index of the next member or element after one that ends at b[i],
// or of the closing bracket.
func next(b []byte, i int, closing byte) (int, error) {
	i = space(b, i)
	switch {
	case i < len(b) && b[i] == closing:
		return i, nil
	case i < len(b) && b[i] == ',':
		if i = space(b, i+1); i < len(b) && b[i] != closing {
			return i, nil
		}
	}
	return 0, shapeError("expected a comma or %q", closing)
}

// unquote returns the text of a string literal; ok is false for anything else.
func unquote(lit []byte) (text []byte, ok bool) {
	if len(lit) < 2 || lit[0] != '"' || lit[len(lit)-1] != '"' {
		return nil, false
	}
	lit = lit[1 : len(lit)-1]
	if bytes.IndexByte(lit, '\\') < 0 {
		return lit, true
	}
	return jsonstring.Unescape(make([]byte, 0, len(lit)), lit)
}
