package redact

import (
	"bytes"
	"slices"
	"strings"
)

// strongAfter returns the first strong value among the words that follow a name: those
// of its line or, if nothing else follows the name there, the first ones below it.
func strongAfter(text []byte, i int, orBelow bool) (from, to int) {
	limit := min(len(text), i+72)
	words, below := 0, false
	for i < limit && words < 8 && (!below || words < 3) {
		for i < limit && betweenWords[text[i]] {
			if text[i] == '\n' {
				if words > 0 && !below || !orBelow {
					return 0, 0
				}
				below = true
			}
			i++
		}
		from = i
		if isAppPassword(text[i:min(len(text), i+20)]) {
			return i, i + 19
		}
		for i < len(text) && i-from < 200 && !betweenWords[text[i]] {
			i++
		}
		to = i
		for to > from && bytes.IndexByte([]byte(".:!?"), text[to-1]) >= 0 {
			to--
		}
		if isHash(text[from:to]) {
			continue
		}
		if colon := bytes.LastIndexByte(text[from:to], ':'); colon >= 0 && !isStrong(text[from:to]) {
			from += colon + 1 // root:…
		}
		if isStrong(text[from:to]) {
			return from, to
		}
		if count(text[from:to], alnum) > 0 {
			words++
		}
	}
	return 0, 0
}

// column finds the passwords of a table, in the lines below the name of their column.
func column(text []byte, start, end int) (found []Finding) {
	from := max(0, start-200)
	from += bytes.LastIndexByte(text[from:start], '\n') + 1
	to := lineEnd(text, end)
	head, before := text[from:to], text[from:start]
	rest := bytes.TrimLeft(text[end:to], " \"'`*\r")
	if len(head) > 500 {
		return nil
	}
	low := strings.ToLower(string(head))
	if !slices.ContainsFunc(columns, func(name string) bool { return strings.Contains(low, name) }) {
		return nil
	}
	for _, sign := range []byte("|,\t;") {
		width := bytes.Count(head, []byte{sign})
		at := bytes.Count(before, []byte{sign})
		if width == 0 || len(rest) > 0 && rest[0] != sign || count(head, inHeading) != len(head)-width {
			continue
		}
		for rows := 0; to < len(text) && rows < 200; rows++ {
			from, to = to+1, lineEnd(text, to+1)
			cells := bytes.Split(text[from:to], []byte{sign})
			if len(cells) != width+1 {
				break
			}
			for _, cell := range cells[:at] {
				from += len(cell) + 1
			}
			cell := bytes.Trim(cells[at], " \"'`*\r")
			v := assignment{value: cell, quoted: true}
			if len(cell) > 0 && bytes.IndexByte(cell, ' ') < 0 && !isPlaceholder(cell) && !isMark(cell) && v.isPassword() {
				from += bytes.Index(cells[at], cell)
				found = append(found, Finding{from, from + len(cell), "password"})
			}
		}
		break
	}
	return found
}

// columns are the names of others in a table of passwords.
var columns = []string{"user", "login", "mail", "account", "name", "host", "url", "site", "service", "role", "server", "system", "konto"}

var inHeading = classOf(letters, digits, "_ -*\"'`\r")

func lineEnd(text []byte, i int) int {
	if i >= len(text) {
		return len(text)
	}
	if n := bytes.IndexByte(text[i:min(len(text), i+1000)], '\n'); n >= 0 {
		return i + n
	}
	return len(text) // or so far away that it does not matter
}

var (
	digit = classOf(digits)
	lower = classOf("abcdefghijklmnopqrstuvwxyz")
)

// isAppPassword reports whether a text begins with a password that Google or Apple makes for
// one program: four times four letters.
func isAppPassword(text []byte) bool {
	if len(text) < 19 || text[4] != ' ' && text[4] != '-' || len(text) > 19 && urlsafe[text[19]] {
		return false
	}
	for i, c := range text[:19] {
		if i%5 == 4 && c != text[4] || i%5 < 4 && !lower[c] {
			return false
		}
	}
	return count(text[:19], vowel) < 7 // else it is four words
}

var vowel = classOf("aeiouyAEIOUY")

var betweenWords = classOf(" \t\r\n\"'`<>(){}[]|,;=\\")

// isStrong reports whether a value can be nothing but a secret, whatever stands before
// it: characters that alternate so often are neither words nor names.
func isStrong(value []byte) bool {
	n := len(value)
	if n < 8 || n > longestValue || !random(value) || isPlaceholder(value) || isMark(value) || isHexadecimal(value) ||
		bytes.Count(value, []byte("/")) > 1 && n < 40 || bytes.IndexByte(value, '@') > 0 && bytes.IndexByte(value, '.') > 0 {
		return false
	}
	if isWords(value) || bytes.IndexByte(value, '.') > 0 && count(value, urlsafe)+bytes.Count(value, []byte(".")) == n {
		return false // code, or a name of a file
	}
	many := turns(value)
	return classes(value) >= 3 && bytes.ContainsAny(value, digits) && many*4 >= min(n, 100) && many >= 3 || n >= 12 && many*2 >= min(n, 100)
}
