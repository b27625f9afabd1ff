// Package shortanswer recognises the short answers by which a user answers an
// agent's question: "EGM96 it is", "sunday 3 am then", "the second one".
package shortanswer

import (
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// longest is the longest answer in characters; a longer message is a request.
const longest = 160

// answer matches the words of a choice.
var answer = lazyregexp.New(`(?i)\bit is\b[^?]*$|\bthen[.!]*$|^(?:ok(?:ay)?,? |so )?then\b|^(?:agreed|let's|lets|we(?:'ll| will)? (?:go|take|keep|use|do)|go (?:with|for)|take|make it|option|variant|both|neither|the (?:first|second|third|last|former|latter|other)|[a-d1-9][.)]?$|[a-d1-9][,.:] )`)

// Is reports whether a user's message is a short answer that decides something.
func Is(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && utf8.RuneCountInString(text) <= longest && !strings.HasSuffix(text, "?") && answer().MatchString(text)
}
