package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
)

// The package has its own reader of JSON. check checks a record once; the walkers
// after it need no error paths. Unlike encoding/json they keep bytes of a string
// that are not UTF-8, and return parts of the record without a copy.

// partDepth bounds the recursion over parts inside parts.
const partDepth = 64

// SyntaxError reports where a record stops being JSON.
type SyntaxError struct {
	Offset int // of the first byte that cannot be right
	Reason string
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

// maxValues is how many values a record may have. A part of a message costs some hundred
// bytes of memory, and two bytes of JSON are enough for one.
const maxValues = 1 << 19

// Check reports an error in b, which must be one JSON value. It checks the strings, which
// are most of a record, eight bytes at a time, and leaves the rest to encoding/json.
func Check(b []byte) error {
	rest := make([]byte, 0, 512) // b with empty strings
	for i := 0; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			rest = append(rest, b[i:]...)
			break
		}
		rest = append(append(rest, b[i:i+n]...), `""`...)
		var err *SyntaxError
		if i, err = checkString(b, i+n); err != nil {
			return err
		}
	}
	if len(rest) > maxValues && bytes.Count(rest, []byte(","))+bytes.Count(rest, []byte("["))+bytes.Count(rest, []byte("{")) > maxValues {
		return &SyntaxError{len(b), "the record has too many values"}
	}
	if !json.Valid(rest) {
		err := json.Unmarshal(b, new(any))
		if at, ok := errors.AsType[*json.SyntaxError](err); ok {
			return &SyntaxError{int(at.Offset) - 1, at.Error()}
		}
		return &SyntaxError{0, fmt.Sprint(err)}
	}
	return nil
}

// checkString checks the string literal that opens at b[i].
func checkString(b []byte, i int) (int, *SyntaxError) {
	for i++; ; i++ {
		if i = plainRun(b, i); i >= len(b) {
			return i, &SyntaxError{i, "a string that does not end"}
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
// stand for itself inside a string literal.
func plainRun[T string | []byte](s T, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 { // eight at a time: records are mostly long texts
		x := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, slash := x^ones*'"', x^ones*'\\'
		// The lowest of these bits is that of the first byte that is not plain.
		if stop := ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*' ')&^x) & high; stop != 0 {
			return i + bits.TrailingZeros64(stop)/8
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
		if jsonstring.Hex4(b[2:]) >= 0 {
			return 6
		}
	}
	return 0
}
