package apiform

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/record/wire"
)

// errShape says that a body is not of the form that its path promises.
var errShape = errors.New("the request has an unknown shape")

func shapeError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errShape, fmt.Sprintf(format, args...))
}

// The functions below take JSON that was checked.

// eachMember calls fn with the key and the index of the value of each member of the
// object that begins at b[i], and returns the index after the object. A key with an
// escape or a second member of the same name is an error: programs read such an
// object in different ways. fn returns the end of the value if it has read it, else
// 0.
func eachMember(b []byte, i int, fn func(key string, at int) (end int, err error)) (int, error) {
	if b[i] != '{' {
		return 0, shapeError("expected an object")
	}
	var seen [16]string
	keys := seen[:0]
	for i = wire.Space(b, i+1); b[i] != '}'; {
		end := wire.End(b, i)
		key := string(b[i+1 : end-1])
		if bytes.IndexByte(b[i:end], '\\') >= 0 {
			return 0, shapeError("an escaped key")
		}
		if slices.Contains(keys, key) {
			return 0, shapeError("two members called %.40q", key)
		}
		keys = append(keys, key)
		at := wire.Space(b, wire.Space(b, end)+1) // after the colon
		end, err := fn(key, at)
		if err != nil {
			return 0, err
		}
		i = next(b, at, end)
	}
	return i + 1, nil
}

// eachElement calls fn with the index of each element of the array that begins at
// b[i], as eachMember does, and returns the index after the array.
func eachElement(b []byte, i int, fn func(at int) (end int, err error)) (int, error) {
	if b[i] != '[' {
		return 0, shapeError("expected an array")
	}
	for i = wire.Space(b, i+1); b[i] != ']'; {
		end, err := fn(i)
		if err != nil {
			return 0, err
		}
		i = next(b, i, end)
	}
	return i + 1, nil
}

// next returns the index of the next member or element after the value at b[i], or of the
// closing bracket. end is the end of the value, or 0.
func next(b []byte, i, end int) int {
	if end == 0 {
		end = wire.End(b, i)
	}
	if end = wire.Space(b, end); b[end] == ',' {
		end = wire.Space(b, end+1)
	}
	return end
}
