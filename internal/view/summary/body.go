package summary

import (
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// The lines of an extractive summary, beside its sentences.
const (
	identifiersHead     = "Identifiers: "
	toolIdentifiersHead = "Identifiers in tool output: "
	omittedHead         = "[omitted: instruction-like text, "
	omittedTail         = "]"
)

// RoleSummary labels sentences that come from an older summary's own prose,
// where no message can be named as the speaker.
const RoleSummary llms.Role = "summary"

// Line is one line of a summary's body: a text, its speaker and its message.
type Line struct {
	Role llms.Role
	Seq  int64
	Text string
	At   int // the byte offset of Text in the body
}

// Body is a summary taken apart.
type Body struct {
	Lines []Line
	// Prose holds lines that name no message, which a model wrote.
	Prose []Line
	// Identifiers are those mentioned in conversation, ToolIdentifiers those seen
	// in tool output only.
	Identifiers     []string
	ToolIdentifiers []string
	Omitted         []string // #seq of messages whose instruction-like text was left out
	Footer          string   // without its fixed beginning
}

// Parse takes the body of a summary apart. It reads the output of Extractive and any
// other text: lines that it does not know are Prose.
func Parse(text string) Body {
	var b Body
	at := 0
	for line := range strings.Lines(text) {
		b.add(strings.TrimSuffix(line, "\n"), at)
		at += len(line)
	}
	return b
}

func (b *Body) add(line string, at int) {
	if rest, ok := cutFooter(line); ok {
		b.Footer = rest
		return
	}
	if rest, ok := strings.CutPrefix(line, identifiersHead); ok {
		b.Identifiers = append(b.Identifiers, splitIdentifiers(rest)...)
		return
	}
	if rest, ok := strings.CutPrefix(line, toolIdentifiersHead); ok {
		b.ToolIdentifiers = append(b.ToolIdentifiers, splitIdentifiers(rest)...)
		return
	}
	if rest, ok := strings.CutPrefix(line, omittedHead); ok {
		for ref := range strings.SplitSeq(strings.TrimSuffix(rest, omittedTail), ", ") {
			if strings.HasPrefix(ref, "#") && isDigits(ref[1:]) {
				b.Omitted = append(b.Omitted, ref)
			}
		}
		return
	}
	if role, seq, n, ok := cutSpeaker(line); ok {
		b.Lines = append(b.Lines, Line{Role: role, Seq: seq, Text: line[n:], At: at + n})
		return
	}
	if strings.TrimSpace(line) != "" {
		b.Prose = append(b.Prose, Line{Role: RoleSummary, Text: line, At: at})
	}
}

// splitIdentifiers reads a list of identifiers. Other words of the line are dropped.
func splitIdentifiers(s string) []string {
	var ids []string
	for _, id := range Identifiers(s) {
		ids = append(ids, id.Text)
	}
	return ids
}

// joinIdentifiers is the inverse: identifiers with a space between them, which costs
// no tokens, and a semicolon where two would otherwise be read as one.
func joinIdentifiers(ids []string) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			if !standApart(ids[i-1], id) {
				b.WriteByte(';')
			}
			b.WriteByte(' ')
		}
		b.WriteString(id)
	}
	return b.String()
}

// standApart reports whether a and b are told apart with just a space between
// them. Only a date can be taken to go on, with a year or a time of day.
func standApart(a, b string) bool {
	if !isDigit(b[0]) || !strings.ContainsAny(a, " -/") {
		return true
	}
	ids := Identifiers(a + " " + b)
	return len(ids) == 2 && ids[0].Text == a && ids[1].Text == b
}

// cutSpeaker reads "role#seq: " at the start of a line and returns its length.
func cutSpeaker(line string) (role llms.Role, seq int64, n int, ok bool) {
	hash := strings.IndexByte(line, '#')
	if hash < 4 || hash > len("assistant") {
		return "", 0, 0, false
	}
	role = llms.Role(line[:hash])
	if !role.Valid() && role != RoleSummary {
		return "", 0, 0, false
	}
	end := hash + 1 + len(line[hash+1:]) - len(strings.TrimLeft(line[hash+1:], "0123456789"))
	if !strings.HasPrefix(line[end:], ": ") {
		return "", 0, 0, false
	}
	seq, err := strconv.ParseInt(line[hash+1:end], 10, 64)
	if err != nil {
		return "", 0, 0, false
	}
	return role, seq, end + len(": "), true
}

// speaker is the prefix that names the speaker and the message of a line.
func speaker(role llms.Role, seq int64) string {
	return string(role) + "#" + strconv.FormatInt(seq, 10) + ": "
}

// seqRange renders a range of messages.
func seqRange(from, to int64) string {
	if from == to {
		return "#" + strconv.FormatInt(from, 10)
	}
	return "#" + strconv.FormatInt(from, 10) + "–#" + strconv.FormatInt(to, 10)
}
