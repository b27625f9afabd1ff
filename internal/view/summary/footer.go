package summary

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/lossless-context/lcm/internal/view/notes"
	"github.com/lossless-context/lcm/llms"
)

// HasFooter reports whether the last line of text begins with Footer.
func HasFooter(text string) bool {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	last := text[strings.LastIndexByte(text, '\n')+1:]
	return strings.HasPrefix(last, Footer) && len(last) > len(Footer)
}

// EnsureFooter returns text with a last line that begins with Footer. A text
// that has one loses only the space at its end; a last line that differs in case or
// emphasis is corrected; otherwise a footer is added that names what the sources have
// beyond what was said.
func EnsureFooter(text string, r Request) string {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	if HasFooter(text) {
		return text
	}
	at := strings.LastIndexByte(text, '\n') + 1
	if rest, ok := cutFooter(text[at:]); ok && rest != "" {
		return text[:at] + Footer + rest
	}
	if text != "" {
		text += "\n"
	}
	return text + footer(r.Sources)
}

// cutFooter returns the rest of a line after the words of the footer, in any case and
// emphasis.
func cutFooter(line string) (string, bool) {
	trimmed := strings.TrimLeft(line, "*_#-> ")
	words := strings.TrimRight(Footer, ": ")
	if len(trimmed) < len(words) || !strings.EqualFold(trimmed[:len(words)], words) {
		return "", false
	}
	return strings.Trim(trimmed[len(words):], "*_: "), true
}

// maxNamed bounds how many files and programs the footer names.
const maxNamed = 6

// footer names what the messages have that notes leave out: calls, and their output.
func footer(sources []Source) string {
	var from, to int64
	calls := 0
	var named []string
	for i := range sources {
		s := &sources[i]
		if from == 0 {
			from = s.Seq
		}
		to = max(to, s.Seq)
		if s.Kind != "" {
			for _, l := range notes.Parse(s.Text) {
				to = max(to, l.Seq)
			}
		}
		for _, p := range s.Parts {
			if p.Call == nil {
				continue
			}
			calls++
			if what := notes.Subject(p.Call); what != "" && len(named) < maxNamed && !slices.Contains(named, what) {
				named = append(named, what)
			}
		}
	}
	line := Footer + "the exact words of " + seqRange(from, to)
	switch {
	case calls > len(named):
		named = append(named, "…")
		fallthrough
	case calls > 0:
		line += fmt.Sprintf("; %d tool calls with their output (%s)", calls, strings.Join(named, ", "))
	}
	return line
}

// seqRange names a range of messages.
func seqRange(from, to int64) string {
	switch {
	case from == 0:
		return "these messages"
	case from == to:
		return fmt.Sprintf("#%d", from)
	}
	return fmt.Sprintf("#%d–#%d", from, to)
}

// counter is the counter of a request, or the default.
func counter(r Request) llms.Counter {
	if r.Counter == nil {
		return llms.Estimate
	}
	return r.Counter
}
