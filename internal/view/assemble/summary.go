package assemble

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// Lists of ids in a rendered summary are bounded: a summary that covers a
// thousand messages must not cost more than they did. The whole list is one
// lcm_describe away.
const (
	maxListed  = 16
	listedEach = 6 // at either end of a list that is cut
)

// RenderSummary returns a summary as a model sees it: an XML element with its
// id, kind, depth, counts and times, the ids of its sources if it is condensed,
// the ids of the files it mentions, and its body. The body is escaped and
// cleaned, so that it can neither close an element nor look like an attribute.
func RenderSummary(s store.Summary, sources []store.ID) string {
	var b strings.Builder
	b.Grow(len(s.Body) + 512)
	b.WriteString("<summary")
	attr(&b, "id", string(s.ID))
	attr(&b, "kind", string(s.Kind))
	attr(&b, "depth", strconv.Itoa(s.Depth))
	attr(&b, "descendant_count", strconv.Itoa(s.Descendants))
	attr(&b, "messages", strconv.Itoa(s.Messages))
	timeAttr(&b, "earliest_at", s.Earliest)
	timeAttr(&b, "latest_at", s.Latest)
	attr(&b, "trust", "untrusted")
	b.WriteString(">\n")
	if s.Kind == summary.Condensed {
		list(&b, "sources", "source", sources)
	}
	list(&b, "files", "file", s.Files)
	b.WriteString("<content>\n")
	b.WriteString(escape(s.Body))
	b.WriteString("\n</content>\n</summary>")
	return b.String()
}

// SummaryMessage returns the message that shows a summary.
func SummaryMessage(s store.Summary, sources []store.ID) llms.Message {
	return llms.User(RenderSummary(s, sources))
}

// SummaryTokens returns the cost of a rendered summary.
func SummaryTokens(c llms.Counter, s store.Summary, sources []store.ID) int {
	return llms.CountMessage(c, SummaryMessage(s, sources))
}

func attr(b *strings.Builder, name, value string) {
	b.WriteByte(' ')
	b.WriteString(name)
	b.WriteString(`="`)
	b.WriteString(quoted.Replace(escape(value)))
	b.WriteByte('"')
}

func timeAttr(b *strings.Builder, name string, t time.Time) {
	if !t.IsZero() {
		attr(b, name, t.UTC().Format(time.RFC3339))
	}
}

// list writes an element that holds one empty element for each id.
func list[ID any](b *strings.Builder, name, entry string, ids []ID) {
	if len(ids) == 0 {
		return
	}
	write := func(ids []ID) {
		for _, id := range ids {
			b.WriteByte('<')
			b.WriteString(entry)
			attr(b, "id", idString(id))
			b.WriteString("/>")
		}
	}
	b.WriteByte('<')
	b.WriteString(name)
	attr(b, "count", strconv.Itoa(len(ids)))
	b.WriteByte('>')
	if len(ids) <= maxListed {
		write(ids)
	} else {
		write(ids[:listedEach])
		b.WriteString("<omitted")
		attr(b, "count", strconv.Itoa(len(ids)-2*listedEach))
		b.WriteString("/>")
		write(ids[len(ids)-listedEach:])
	}
	b.WriteString("</")
	b.WriteString(name)
	b.WriteString(">\n")
}

func idString(id any) string {
	switch id := id.(type) {
	case store.ID:
		return id.String()
	case store.PayloadID:
		return string(id)
	}
	return ""
}

// quoted escapes the quotes, which escape leaves as they are: they matter in
// attributes only, and escaping them would double the cost of a body of JSON.
var quoted = strings.NewReplacer(`"`, "&quot;", "'", "&apos;", "\n", " ", "\t", " ")

// escape makes text safe inside an element: markup characters are escaped,
// control characters but newline and tab are removed, bytes that are not
// UTF-8 are replaced.
func escape(text string) string {
	var b strings.Builder
	done := 0 // text[:done] is in b
	for i := 0; i < len(text); {
		if asIs[text[i]] {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if by, same := escaped(r, n); !same {
			if done == 0 {
				b.Grow(len(text) + len(text)/16)
			}
			b.WriteString(text[done:i])
			b.WriteString(by)
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// asIs marks the bytes that stand for themselves, which most are: a view
// holds hundreds of kilobytes of summaries.
var asIs = func() (set [256]bool) {
	for c := range utf8.RuneSelf {
		_, set[c] = escaped(rune(c), 1)
	}
	return set
}()

// escaped returns the text that replaces a rune of n bytes in an element, or
// same if the rune stays.
func escaped(r rune, n int) (by string, same bool) {
	switch {
	case r == '<':
		return "&lt;", false
	case r == '>':
		return "&gt;", false
	case r == '&':
		return "&amp;", false
	case r == utf8.RuneError && n == 1:
		return string(utf8.RuneError), false
	case isControl(r):
		return "", false
	}
	return "", true
}

// isControl reports a character that no XML text may or should hold. The
// direction overrides are among them: with them a reader sees another text than
// the model.
func isControl(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ', r >= 0x7f && r <= 0x9f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfffe, r == 0xffff:
		return true
	}
	return false
}
