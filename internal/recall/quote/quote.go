// Package quote makes stored text safe to show to an agent: one line, no control
// characters or marks that reorder text, no tags, and a bounded length. Nothing in it
// can imitate the frame around it.
package quote

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/ingest"
)

// Text returns stored text between quotation marks, on one line of at most n characters.
// Quotation marks inside become apostrophes: the text must not end its own quotation.
func Text(text string, n int) string {
	return `"` + strings.ReplaceAll(Line(text, n), `"`, "'") + `"`
}

// Line returns stored text on one line of at most n characters.
func Line(text string, n int) string {
	if len(text) > 16*n { // the rest would be cut off anyway
		end := 16 * n
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	var b strings.Builder
	count, space := 0, false
	for _, r := range safetext.Line(text) {
		if r == ' ' {
			space = b.Len() > 0
			continue
		}
		piece := string(r)
		if r == '<' {
			piece = "&lt;"
		}
		if space {
			piece = " " + piece
		}
		size := utf8.RuneCountInString(piece)
		if count+size > n-1 {
			return b.String() + "…"
		}
		b.WriteString(piece)
		count, space = count+size, false
	}
	return b.String()
}

// Block frames a text for an agent's context. Ingest keeps such blocks out of recall.
func Block(text string) string {
	return ingest.ContextTag + ` source="lcm">` + "\n" + text + "\n</lcm-context>"
}

// Session names a conversation and its agent, which has at most n characters.
func Session(number int64, agent string, n int) string {
	name := fmt.Sprintf("conversation %d", number)
	if agent != "" {
		name += " with " + Line(agent, n)
	}
	return name
}

// Time returns a time in UTC to the minute, or "-" for none.
func Time(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04")
}
