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
// some hundred messages many of them are rare by chance, so that its own
// counts take them for telling.
var commonWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(commonText) {
		words[w] = true
	}
	return words
})

// telling returns the words of a question that say what it is about, or
// nothing where all or none of them do. A quotation is left alone: it is
// looked for as a whole.
func telling(question string) string {
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
	return strings.Join(kept, " ")
}
