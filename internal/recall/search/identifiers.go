package search

import (
	"bytes"
	"strings"
	"unicode"
)

// A question with an identifier such as invoice-rows-0a1b2c asks for the texts
// that have it. They come before texts that share the other words or stand next
// to them. Ranking by scores alone lost one in eight such texts to their
// neighbours.

// minExact is the length below which an identifier is too ordinary (3rd, v2)
// to decide.
const minExact = 5

// exactForms are the identifiers of a query, as texts must have them, folded to
// lower case.
func exactForms(clauses []clause) [][]byte {
	var out [][]byte
	for _, c := range clauses {
		if c.phrase || c.not || c.prefix {
			continue
		}
		word := strings.TrimFunc(c.text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '/' })
		if len(word) >= minExact && identifier(word) {
			out = append(out, bytes.ToLower([]byte(word)))
		}
	}
	return out
}

// identifier reports a word that nobody would write in prose: letters together
// with digits, or parts joined by underscores, slashes, colons or dots.
func identifier(word string) bool {
	letters := strings.ContainsFunc(word, unicode.IsLetter)
	return letters && (strings.ContainsFunc(word, unicode.IsDigit) || strings.ContainsAny(word, "_/:.@#\\"))
}

// exact counts the query's identifiers that a text has.
func (q *Query) exact(text []byte) int {
	if len(q.identifiers) == 0 {
		return 0
	}
	n := 0
	var lower []byte
	for _, id := range q.identifiers {
		if bytes.Contains(text, id) {
			n++
			continue
		}
		if lower == nil {
			lower = bytes.ToLower(text)
		}
		if bytes.Contains(lower, id) {
			n++
		}
	}
	return n
}
