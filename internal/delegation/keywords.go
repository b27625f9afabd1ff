package delegation

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
)

//go:embed common.txt
var commonText string

// commonWords are words that English texts of every kind have. In a record of
// some hundred messages many of them are rare by chance, so that ranking takes
// them for significant.
var commonWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(commonText) {
		words[w] = true
	}
	return words
})

// asWords writes a question so that search reads no operators in it: a question
// about "tar -x", or whether A OR B was chosen, excludes nothing.
func asWords(question string) string {
	words := strings.Fields(question)
	for i, w := range words {
		switch w {
		case "AND", "OR", "NOT":
			words[i] = strings.ToLower(w)
		}
		if len(w) > 1 && (w[0] == '-' || w[0] == '+') && w[1] != w[0] {
			words[i] = w[1:]
		}
	}
	return strings.Join(words, " ")
}

// keywords returns the words of a question that say what it is about, or
// nothing where all or none of them do. A quotation is left alone: it is
// looked for as a whole.
func keywords(question string) string {
	if strings.ContainsRune(question, '"') {
		return ""
	}
	words := strings.Fields(question)
	var kept []string
	for _, w := range words {
		bare := strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if bare != "" && !commonWords()[strings.ToLower(bare)] {
			kept = append(kept, strings.Trim(w, "?,.!;:()"))
		}
	}
	if len(kept) == len(words) {
		return ""
	}
	return asWords(strings.Join(kept, " ")) // (-x) has lost its brackets
}
