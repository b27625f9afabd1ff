package config

import "strings"

// entry is one `key = value` of a TOML text, or one `[table]` header.
type entry struct {
	header bool
	table  string // the table in force, "" before the first header
	key    string // the full dotted key
	line   int    // from 1
	start  int    // offset of the first byte of the line
	// value and end delimit the value in the text; for a header, end is the
	// end of its line.
	value, end int
}

// covers reports whether the entry sets key or a table that holds it.
func (e entry) covers(key string) bool {
	return e.key == key || strings.HasPrefix(key, e.key+".")
}

// scan finds the entries of a text that is valid TOML, with their places,
// which the TOML library does not report. On any other text it may return
// nonsense, but it returns.
func scan(src string) []entry {
	var entries []entry
	table := ""
	line := 1
	for at := 0; at < len(src); {
		begin := at
		e := entry{table: table, line: line, start: begin}
		at = skip(src, at, " \t\r")
		switch {
		case at == len(src) || src[at] == '\n' || src[at] == '#':
			at = endOfLine(src, at)
		case src[at] == '[':
			at = endOfLine(src, at)
			name, _, _ := strings.Cut(strings.Trim(strings.TrimSpace(src[begin:at]), "["), "]")
			table = dotted(name)
			e.header, e.table, e.key, e.end = true, table, table, at
			entries = append(entries, e)
		default:
			equals := endOfKey(src, at)
			e.key = dotted(src[at:equals])
			if table != "" {
				e.key = table + "." + e.key
			}
			e.value = skip(src, min(equals+1, len(src)), " \t")
			e.end = endOfValue(src, e.value)
			entries = append(entries, e)
			at = endOfLine(src, e.end)
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

// endOfKey returns the offset of the equals sign after a key.
func endOfKey(src string, at int) int {
	for at < len(src) && src[at] != '=' && src[at] != '\n' {
		if src[at] == '"' || src[at] == '\'' {
			at = endOfString(src, at)
		} else {
			at++
		}
	}
	return at
}

// endOfValue returns the offset after a value, which may be an array or a
// string of several lines. Blanks and a comment after it do not belong to it.
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
			// A long string may end in one or two quotes of its own.
			for len(quote) == 3 && at < len(src) && src[at] == quote[0] {
				at++
			}
			return at
		}
	}
	return len(src)
}

// dotted normalises a key: blanks around dots and quotes around parts go.
func dotted(key string) string {
	parts := strings.Split(key, ".")
	for i, part := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(part), `"'`)
	}
	return strings.Join(parts, ".")
}
