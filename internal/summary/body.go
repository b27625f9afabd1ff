package summary

import (
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// The lines of an extractive summary, beside its sentences.
const (
	ledgerHead     = "Identifiers: "
	toolLedgerHead = "Identifiers in tool output: "
	omittedHead    = "[omitted: instruction-like text, "
	omittedTail    = "]"
)

// RoleSummary labels sentences that come from an older summary's own prose,
// where no message can be named as the speaker.
const RoleSummary llms.Role = "summary"

// Line is one line of a summary's body: what was said, by whom, where.
type Line struct {
	Role llms.Role
	Seq  int64
	Text string
	At   int // the byte offset of Text in the body
}

// Body is a summary taken apart.
type Body struct {
	Lines []Line
	// Prose holds lines that name no message: what a model wrote.
	Prose []Line
	// Identifiers and ToolIdentifiers are the entries of the ledger, those
	// mentioned in conversation and those seen in tool output only.
	Identifiers     []string
	ToolIdentifiers []string
	Omitted         []string // #seq of messages whose instruction-like text was left out
	Footer          string   // without its fixed beginning
}

// Parse takes the body of a summary apart. It reads what Extractive writes
// and any other text: lines it does not know are Prose.
func Parse(text string) Body {
	var b Body
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			end = len(text)
		} else {
			end += at
		}
		b.add(text[at:end], at)
		at = end + 1
	}
	return b
}

func (b *Body) add(line string, at int) {
	if rest, ok := cutFooter(line); ok {
		b.Footer = rest
		return
	}
	if rest, ok := strings.CutPrefix(line, ledgerHead); ok {
		b.Identifiers = append(b.Identifiers, splitLedger(rest)...)
		return
	}
	if rest, ok := strings.CutPrefix(line, toolLedgerHead); ok {
		b.ToolIdentifiers = append(b.ToolIdentifiers, splitLedger(rest)...)
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

// splitLedger returns the entries of a ledger. They are told apart the way
// they were found, so a line that only looks like a ledger yields nothing but
// identifiers.
func splitLedger(s string) []string {
	var ids []string
	for _, id := range Identifiers(s) {
		ids = append(ids, id.Text)
	}
	return ids
}

// joinLedger is the inverse: entries with a space between them, which costs
// no tokens, and a semicolon where two would otherwise be read as one.
func joinLedger(ids []string) string {
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
	end := hash + 1
	for end < len(line) && isDigit(line[end]) {
		end++
	}
	if !strings.HasPrefix(line[end:], ": ") {
		return "", 0, 0, false
	}
	seq, err := strconv.ParseInt(line[hash+1:end], 10, 64)
	if err != nil {
		return "", 0, 0, false
	}
	return role, seq, end + len(": "), true
}

// speaker is the prefix that names who said a line, and where.
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
