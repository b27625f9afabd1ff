package summary

import (
	"fmt"
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
	return text + cuesOf(r.Sources, notes.Find(r.Sources)).footer(text)
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

// A footer is a tenth of its summary, in bytes, at most maxFooter, and has enough names if the
// sources have. Where they do not, words stand in.
const maxFooter, enough = 480, 5

// exactWords begins the end of a footer.
const exactWords = "the exact words of "

// footer names what a text of the sources lacks.
func (c *cues) footer(text string) string {
	line, listed := Footer, 0
	list := func(all []string, room int) {
		for _, one := range all {
			has, _, _ := strings.Cut(strings.TrimPrefix(one, "“"), " … ")
			has, _, _ = strings.Cut(has, "”")
			if (listed < enough || len(line)+len(one) < room) && !strings.Contains(text, has) && !strings.Contains(line, has) {
				line += one + ", "
				listed++
			}
		}
	}
	room := min(len(text)/10, maxFooter)
	list(c.rules[:min(len(c.rules), enough/2)], room)
	list(c.names, room)
	list(c.words, 0)
	if c.from == 0 {
		return line + exactWords + "these messages"
	}
	return line + exactWords + fmt.Sprintf("#%d–#%d", c.from, c.to)
}

// counter is the counter of a request, or the default.
func counter(r Request) llms.Counter {
	if r.Counter == nil {
		return llms.Estimate
	}
	return r.Counter
}
