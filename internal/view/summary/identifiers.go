package summary

import "strings"

// Class is the sort of an identifier.
type Class string

// The classes of identifier.
const (
	ClassURL     Class = "url"     // with a scheme, www., host:port, an e-mail address
	ClassPath    Class = "path"    // a file or a folder, with :line where one follows
	ClassHash    Class = "hash"    // seven or more hexadecimal digits, a UUID
	ClassVersion Class = "version" // v1, 1.2.3, go1.26
	ClassDate    Class = "date"    // a date, a time of day, or both
	ClassNumber  Class = "number"  // a number that is worth remembering: with a unit, or of three digits or more
	ClassSymbol  Class = "symbol"  // call(), snake_case, camelCase, CONST_NAME, pkg.Name, --flag, $VAR, ABC-123
)

// Classes lists every class in the order reports show them.
func Classes() []Class {
	return []Class{ClassPath, ClassURL, ClassVersion, ClassHash, ClassDate, ClassNumber, ClassSymbol}
}

// Identifier is one occurrence of a text that is of use only if it is repeated
// exactly: half a path opens nothing.
type Identifier struct {
	Class Class
	Text  string // verbatim
	At    int    // the byte offset of Text in the scanned text
}

// Identifiers returns the identifiers of text in the order they occur,
// repetitions included. They do not overlap, and each is a substring of text
// that holds no line break, no control character and no invalid UTF-8.
func Identifiers(text string) []Identifier {
	var found []Identifier
	for i := 0; i < len(text); {
		end, plain := chunk(text, i)
		if plain {
			i = end
			continue
		}
		class, n := identifierAt(text[i:])
		if n == 0 {
			i = max(wordEnd(text, i), i+1)
			continue
		}
		id := Identifier{class, text[i : i+n], i}
		if i += n; id.refine() {
			found = append(found, id)
		}
	}
	return found
}

// Mentions reports whether text contains the identifier id as a whole: not as
// part of a longer word or number.
func Mentions(text, id string) bool { return mention(text, id, 0) >= 0 }

// mention returns where text mentions id as a whole, at from or later, or -1.
func mention(text, id string, from int) int {
	if id == "" {
		return -1
	}
	for from <= len(text) {
		i := strings.Index(text[from:], id)
		if i < 0 {
			return -1
		}
		i += from
		if boundary(text, i, id[0]) && boundaryAfter(text, i+len(id), id[len(id)-1]) {
			return i
		}
		from = i + 1
	}
	return -1
}

// boundary reports whether a word may begin at i, given its first byte.
func boundary(text string, i int, first byte) bool {
	if i == 0 || !isWordByte(first) {
		return true
	}
	prev := text[i-1]
	if isWordByte(prev) {
		return false
	}
	// 1.250 does not mention 250.
	return !(isDigit(first) && (prev == '.' || prev == ',') && i >= 2 && isDigit(text[i-2]))
}

// boundaryAfter reports whether a word may end before i, given its last byte.
func boundaryAfter(text string, i int, last byte) bool {
	if i >= len(text) || !isWordByte(last) {
		return true
	}
	next := text[i]
	if isWordByte(next) {
		return false
	}
	return !(isDigit(last) && (next == '.' || next == ',') && i+1 < len(text) && isDigit(text[i+1]))
}

func isDigit(b byte) bool    { return '0' <= b && b <= '9' }
func isUpper(b byte) bool    { return 'A' <= b && b <= 'Z' }
func isLower(b byte) bool    { return 'a' <= b && b <= 'z' }
func isAlpha(b byte) bool    { return isUpper(b) || isLower(b) }
func isWordByte(b byte) bool { return isAlpha(b) || isDigit(b) || b == '_' }

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
