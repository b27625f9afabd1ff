// Package tomledit edits TOML as text: it sets one key or removes one table, and
// keeps every other byte, with comments, order and line endings.
//
// It expects valid TOML. The edits are textual: the caller parses the result and
// compares it with the document before.
package tomledit

import (
	"slices"
	"strings"
)

// Entry is one `key = value` of a text, or one `[table]` header.
type Entry struct {
	Header bool
	Table  []string // the current table, nil before the first header
	Key    []string // the full path
	Line   int      // from 1
	// Start is the offset of the first byte of the line. Value and End delimit
	// the value; for a header, End is the end of its line.
	Start, Value, End int
}

// Below reports whether the entry is path or lies below it.
func (e Entry) Below(path []string) bool {
	return len(e.Key) >= len(path) && slices.Equal(e.Key[:len(path)], path)
}

// Scan returns the entries of valid TOML with their positions, which the TOML library does
// not report.
func Scan(src string) []Entry {
	var entries []Entry
	var table []string
	line := 1
	for at := 0; at < len(src); {
		begin := at
		e := Entry{Table: table, Line: line, Start: begin}
		at = skip(src, at, " \t\r")
		switch {
		case at == len(src) || src[at] == '\n' || src[at] == '#':
			at = endOfLine(src, at)
		case src[at] == '[':
			name := at + 1
			if strings.HasPrefix(src[name:], "[") {
				name++
			}
			table = splitKey(src[name:endOfKey(src, name, ']')])
			at = endOfLine(src, at)
			e.Header, e.Table, e.Key, e.End = true, table, table, at
			entries = append(entries, e)
		default:
			equals := endOfKey(src, at, '=')
			e.Key = slices.Concat(table, splitKey(src[at:equals]))
			e.Value = skip(src, min(equals+1, len(src)), " \t")
			e.End = endOfValue(src, e.Value)
			entries = append(entries, e)
			at = endOfLine(src, e.End)
		}
		if at < len(src) {
			at++ // the line feed
		}
		line += strings.Count(src[begin:at], "\n")
	}
	return entries
}

func skip(src string, at int, set string) int {
	for at < len(src) && strings.IndexByte(set, src[at]) >= 0 {
		at++
	}
	return at
}

func endOfLine(src string, at int) int {
	if i := strings.IndexByte(src[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(src)
}

// endOfKey returns the offset of the sign after a key.
func endOfKey(src string, at int, sign byte) int {
	for at < len(src) && src[at] != sign && src[at] != '\n' {
		if src[at] == '"' || src[at] == '\'' {
			at = endOfString(src, at)
		} else {
			at++
		}
	}
	return at
}

// endOfValue returns the offset after a value, without trailing blanks and comments.
func endOfValue(src string, at int) int {
	depth := 0
	end := at
	for at < len(src) {
		switch c := src[at]; {
		case c == '"' || c == '\'':
			at = endOfString(src, at)
			end = at
			continue
		case c == '#':
			if depth == 0 {
				return end
			}
			at = endOfLine(src, at)
			continue
		case c == '\n' && depth == 0:
			return end
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		}
		if c := src[at]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			end = at + 1
		}
		at++
	}
	return end
}

// endOfString returns the offset after the string that begins at a quote.
func endOfString(src string, at int) int {
	quote := src[at : at+1]
	basic := quote == `"`
	if strings.HasPrefix(src[at:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	for at += len(quote); at < len(src); at++ {
		switch {
		case basic && src[at] == '\\':
			at++
		case len(quote) == 1 && src[at] == '\n':
			return at
		case strings.HasPrefix(src[at:], quote):
			at += len(quote)
			// A long string may end in one or two quotes.
			for len(quote) == 3 && at < len(src) && src[at] == quote[0] {
				at++
			}
			return at
		}
	}
	return len(src)
}

// splitKey splits a dotted key into its parts, without blanks and quotes.
func splitKey(key string) []string {
	var parts []string
	for from := 0; from <= len(key); {
		end := endOfKey(key, from, '.')
		parts = append(parts, strings.Trim(strings.TrimSpace(key[from:end]), `"'`))
		from = end + 1
	}
	return parts
}
