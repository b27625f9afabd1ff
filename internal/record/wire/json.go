package wire

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
)

// The package has its own reader of JSON. check checks a record once; the walkers
// after it need no error paths. Unlike encoding/json they keep bytes of a string
// that are not UTF-8, and return parts of the record without a copy.

// maxNesting bounds how deep a record may nest. It is the limit of
// encoding/json, so that every Extra can be read with it.
const maxNesting = 10_000

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

// check reports the first error in b, which must be one JSON value. It keeps
// its own stack, so deep nesting costs memory in proportion and no recursion.
func check(b []byte) error {
	values := 0
	var room [partDepth]byte
	stack := room[:0]
	i := space(b, 0)
	for {
		// At the start of a value.
		if i >= len(b) {
			return &SyntaxError{i, "the record ends where a value is expected"}
		}
		if values++; values > maxValues {
			return &SyntaxError{i, "the record has too many values"}
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
		// Just after a value: close the objects and arrays that end here.
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
