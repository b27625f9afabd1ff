package notes

import (
	"strings"
	"unicode"

	"github.com/lossless-context/lcm/record"
)

// maxAppended bounds how many standing instructions Complete adds.
const maxAppended = 12

// Complete checks a summary that a model wrote of sources. A line that claims to be the
// user's loses that label if none of the sources is, and standing instructions of the
// user that the text does not mention are appended, the newest first if there are many.
func Complete(text string, sources []record.SummarySource) string {
	said := map[int64]bool{}
	var missing []string
	have := Words(text)
	for _, l := range Find(sources) {
		if l.Kind != User {
			continue
		}
		said[l.Seq] = true
		for s := range sentences(l.Text) {
			if len(s) <= maxRule && standing().MatchString(s) && !mentioned(have, s) {
				missing = append(missing, label(User, l.Seq)+s)
			}
		}
	}
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		for _, l := range Parse(line) {
			if l.Kind == User && !said[l.Seq] {
				line = l.Text + "\n"
			}
		}
		b.WriteString(line)
	}
	if len(missing) == 0 {
		return b.String()
	}
	kept := b.String()
	last := strings.LastIndexByte(strings.TrimRight(kept, "\n"), '\n') + 1
	if !strings.HasPrefix(kept[last:], "Expand for details about:") {
		last = len(kept)
	}
	missing = missing[max(0, len(missing)-maxAppended):]
	return strings.TrimRight(kept[:last], "\n") + "\n" + strings.Join(missing, "\n") + "\n" + kept[last:]
}

// mentioned reports whether a text with these words says a sentence, as far as words can
// tell.
func mentioned(have map[string]bool, sentence string) bool {
	found, of := Share(have, sentence)
	return found*10 >= of*7
}

// Share counts the words of a sentence, and those of them that a text has.
func Share(have map[string]bool, sentence string) (found, of int) {
	for w := range Words(sentence) {
		of++
		if have[w] {
			found++
		}
	}
	return found, of
}

// Words are the words of a text that carry meaning, as far as their length tells.
func Words(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) > 3 {
			set[w] = true
		}
	}
	return set
}
