package reminder

import (
	"strings"
	"sync"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/search/analysis"
)

// reference is how a prompt is put. It decides how much evidence is enough.
type reference int

const (
	tells        reference = iota // "add a retry to the importer"
	asks                          // "which port does the proxy use?"
	namesThePast                  // "as we decided", "that error again"
)

// past matches the function words of talk about common work and the past, and question those
// that begin a question, in a folded prompt.
var (
	past = lazyregexp.New(`\b(?:we|us|ours?|did|didn't|was|wasn't|were|weren't|had|hadn't|again|already|before|earlier|ago|last|once|previously|same|still|yesterday|back|remember|remind|you know|` +
		`wir|uns|unser\w*|war|waren|hatten?|haben|wurden?|wieder|schon|bereits|gestern|letzte\w*|zuletzt|damals)\b`)
	question = lazyregexp.New(`[?？؟]|(?:^|[.!:;,])\W*(?:what|which|where|when|who|whose|why|how|was|welche\w?|wo|wann|wer|warum|wie)\b`)
)

func refers(prompt string) reference {
	switch low := folding.Replace(strings.ToLower(prompt)); {
	case past().MatchString(low):
		return namesThePast
	case question().MatchString(low):
		return asks
	}
	return tells
}

// folding writes German letters as the index has them: \b matches only ASCII.
var folding = strings.NewReplacer("’", "'", "ä", "a", "ö", "o", "ü", "u", "ß", "ss")

// software are nouns of every project, beside the common words of the language: a small
// record cannot tell that they are common.
var software = sync.OnceValue(func() map[string]bool {
	return analysis.WordSet(`app application branch bug class client code column command commit config configuration data database diff directory doc docs document endpoint env
environment error file flag folder format git handler header import input job json lint linter loop map merge message mode model module ok output package page parameter patch pr
program project prompt query readme repo repository row schema script search server service shell sql string syntax system table test text ticket todo var variable warning web yaml`)
})

// isOrdinary reports whether a word, as the index has it, does not tell a subject.
func isOrdinary(word string) bool {
	return analysis.IsCommon(word) || software()[word] || software()[strings.TrimSuffix(word, "s")]
}

// Bounds on the part of a prompt that is read: people paste whole logs.
const (
	promptBytes = 2_000
	promptWords = 40
)

// content returns the words of a prompt that are searched for, without search operators,
// and how many of them may tell a subject.
func content(prompt string) (kept []string, specific int) {
	if len(prompt) > promptBytes {
		prompt = strings.ToValidUTF8(prompt[:promptBytes], "")
	}
	seen := map[string]bool{}
	for _, w := range strings.FieldsFunc(prompt, func(r rune) bool { return strings.ContainsRune(" \t\r\n\v\f\"“”„`", r) }) {
		w = strings.Trim(w, `'’‘()[]{}<>,;:!?.…*+-—–=|#&/\`)
		low := strings.TrimSuffix(strings.ToLower(strings.ReplaceAll(w, "’", "'")), "'s")
		if w == "" || seen[low] || analysis.IsStopWord(strings.ReplaceAll(low, "'", "")) {
			continue
		}
		seen[low] = true
		if w == "AND" || w == "OR" || w == "NOT" {
			w = low
		}
		for _, part := range analysis.PlainWords([]byte(low)) {
			if !isOrdinary(part) {
				specific++
			}
		}
		if kept = append(kept, w); len(kept) == promptWords {
			break
		}
	}
	return kept, specific
}
