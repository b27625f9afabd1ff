package analysis

import (
	"strings"
	"unicode/utf8"
)

// EndsWithQuestion reports whether the last sentence of a text is a question.
// A little may follow its mark: a quote, an emoji, a note in brackets.
func EndsWithQuestion(text []byte) bool {
	const after = 200
	tail := string(text[max(0, len(text)-after):])
	end := strings.LastIndexAny(tail, ".!?。！？؟…;")
	if end < 0 {
		return false
	}
	r, _ := utf8.DecodeRuneInString(tail[end:])
	return r == '?' || r == '？' || r == '؟'
}
