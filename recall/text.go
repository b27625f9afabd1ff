package recall

import (
	"fmt"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/record"
)

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// Text returns the answer as people and models read it: the words that no text has, a line with
// the number of matches, then the matches under their sessions, each with its id, who spoke
// and when (UTC), and after a dot the messages beside it.
func (a GrepAnswer) Text() string {
	var b strings.Builder
	if len(a.NotInRecord) > 0 {
		fmt.Fprintf(&b, "%s\n", safetext.Line(prose.NotInRecord(a.NotInRecord)))
	}
	fmt.Fprintf(&b, "%s\n", a.Headline())
	last := record.ConversationID(0)
	for i, m := range a.Matches {
		if m.ConversationID != last || i == 1 && len(a.Said) > 0 {
			fmt.Fprintf(&b, "\n%s\n", m.Session())
			last = m.ConversationID
		}
		if m.write(&b); i == 0 && len(a.Said) > 0 {
			b.WriteString("\n" + SaidText(a.Said))
		}
	}
	if a.Elsewhere != nil {
		fmt.Fprintf(&b, "elsewhere: %s\n", a.Elsewhere)
	}
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if a.NextCursor != "" {
		fmt.Fprintf(&b, "nextCursor: %s\n", a.NextCursor)
	}
	return b.String()
}

// SaidText writes what the user said in a line each, with dates and ids.
func SaidText(said []Turn) string {
	var b strings.Builder
	b.WriteString("what the user said about it, newest first:\n")
	for _, t := range said {
		fmt.Fprintf(&b, "- %s\n", t)
	}
	return b.String()
}

// String returns the turn on a line, with its date and ids.
func (t Turn) String() string {
	line := fmt.Sprintf("%s %s user: %s", t.Prompt.CreatedAt.UTC().Format(time.DateOnly), t.Prompt.ID, t.Prompt.line())
	if t.Reply != nil {
		line += fmt.Sprintf(" · %s assistant: %s", t.Reply.ID, t.Reply.line())
	}
	return line
}

// String counts the matches and says how to ask for them.
func (e Elsewhere) String() string {
	return fmt.Sprintf("%s in other conversations; %s", prose.AtLeast(e.Hits, e.AtLeast, "match", "matches"), e.How)
}

// line is the neighbour on a line, with […] where it is cut.
func (n Neighbour) line() string {
	text := n.Shown()
	if n.Truncated {
		text += " […]"
	}
	return text
}

// OnlyMatches returns the answer without messages that do not match themselves: those around
// a match, those that rank by their neighbours, and what the user said about the question.
func (a GrepAnswer) OnlyMatches() GrepAnswer {
	all := a.Matches
	a.Said, a.Matches = nil, []Match{}
	for _, m := range all {
		if m.Context = nil; !m.Beside {
			a.Matches = append(a.Matches, m)
		}
	}
	return a
}

// Headline counts the matches and says where they were looked for.
func (a GrepAnswer) Headline() string {
	if w := a.Widened; w != nil {
		return fmt.Sprintf("%s in %s; widened to all conversations: %s elsewhere", prose.Plural(w.InScope, "match", "matches"), w.From, prose.AtLeast(w.Elsewhere, w.AtLeast, "match", "matches"))
	}
	of := ""
	if len(a.NotInRecord) > 0 && a.Total > 0 {
		of = "results with the other words: "
	}
	return of + fmt.Sprintf("%s in %s", prose.AtLeast(a.Total, a.TotalIsLowerBound, "match", "matches"), a.Scope)
}

// Session names the session of a match: its number, the agent and the title,
// and the project where that is another one.
func (m Match) Session() string {
	parts := []string{fmt.Sprintf("session %d", m.ConversationID)}
	for _, p := range []string{m.Host, prose.Clip(m.Title, 60)} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if m.Project != "" {
		parts = append(parts, "project "+m.Project)
	}
	return oneLine(strings.Join(parts, " · "))
}

// oneLine keeps names from beginning a line of their own, and from holding
// invisible characters.
func oneLine(s string) string { return prose.OneLine(safetext.Line(s)) }

// Shown is the snippet as a model or a person reads it, with […] where it is cut. It has no marks, so
// that it can be copied.
func (m Match) Shown() string { return m.Ellipses(safetext.Text(m.Snippet), "[…]") }

// Ellipses puts a sign where the snippet is cut. A truncated snippet of which the ends are
// not known, as a team's server sends it, has the sign at its end.
func (m Match) Ellipses(text, sign string) string {
	if m.CutBefore {
		text = sign + " " + text
	}
	if m.CutAfter || m.Truncated && !m.CutBefore {
		text += " " + sign
	}
	return text
}

// Shown is the beginning of a neighbour as a model or a person reads it, on one
// line.
func (n Neighbour) Shown() string { return safetext.Line(n.Snippet) }

func (m Match) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s:", m.Heading(nil))
	text := m.Shown()
	if strings.Contains(text, "\n") {
		b.WriteString("\n" + indent(text) + "\n")
	} else {
		b.WriteString(" " + text + "\n")
	}
	if m.Context != nil {
		writeNeighbours(b, m.Context.Before)
		writeNeighbours(b, m.Context.After)
	}
}

// Who says who spoke, or that it is a summary.
func (m Match) Who() string {
	who := string(m.Role)
	if m.Depth != nil {
		who = fmt.Sprintf("%s summary d%d", m.Kind, *m.Depth)
	}
	if m.Retired {
		who += ", retired"
	}
	return who
}

// When is the time at which a match was said; a summary's is that of the newest
// message that it covers.
func (m Match) When() time.Time {
	if m.Depth != nil {
		return m.LatestAt
	}
	return m.CreatedAt
}

// Heading names the kind of a match and its ids. Its time is written by
// stamp, or where that is nil to the minute in UTC.
func (m Match) Heading(stamp func(time.Time) string) string {
	if stamp == nil {
		stamp = minute
	}
	parts := []string{m.ID.String() + " " + m.Who() + " " + stamp(m.When())}
	if m.CoveredBy != "" {
		parts = append(parts, "in "+string(m.CoveredBy))
	}
	for _, id := range m.AlsoIn {
		if id != m.CoveredBy {
			parts = append(parts, "in "+string(id))
		}
	}
	if len(m.FileIDs) > 0 {
		parts = append(parts, "inside "+prose.Join(m.FileIDs, ", ", 0))
	}
	return strings.Join(append(parts, m.Marks()...), " · ")
}

// Marks says what a reader has to know of a match beyond its text.
func (m Match) Marks() (marks []string) {
	if m.Beside {
		marks = append(marks, "beside a match")
	}
	if m.Earlier != "" {
		marks = append(marks, m.Earlier)
	}
	if m.Damaged {
		marks = append(marks, "DAMAGED")
	}
	return marks
}

// String returns the neighbour on a line, with its id and who spoke.
func (n Neighbour) String() string { return fmt.Sprintf("%s %s: %s", n.ID, n.Role, n.line()) }

func writeNeighbours(b *strings.Builder, all []Neighbour) {
	for _, n := range all {
		fmt.Fprintf(b, "  · %s\n", n)
	}
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// Mark returns the snippet with each match between open and close. Other
// text goes through shown, which may be nil.
func (m Match) Mark(open, close string, shown func(string) string) string {
	if shown == nil {
		shown = func(s string) string { return s }
	}
	runes := []rune(m.Snippet)
	var b strings.Builder
	at := 0
	for _, r := range m.MatchRanges {
		if r[0] < at || r[1] < r[0] || r[1] > len(runes) {
			continue
		}
		b.WriteString(shown(string(runes[at:r[0]])))
		if r[1] > r[0] {
			b.WriteString(open + shown(string(runes[r[0]:r[1]])) + close)
		}
		at = r[1]
	}
	b.WriteString(shown(string(runes[at:])))
	return b.String()
}

// Text returns the answer as people and models read it: the text, the citations of a
// sub-agent with their quotes, and how the answer was made.
func (a Answer) Text() string {
	var b strings.Builder
	if len(a.NotInRecord) > 0 {
		fmt.Fprintf(&b, "%s\n", safetext.Line(prose.NotInRecord(a.NotInRecord)))
	}
	if len(a.NotInRecord) > 0 && a.Method == MethodEvidence {
		b.WriteString("results with the other words:\n")
	}
	fmt.Fprintf(&b, "%s\n", a.Answer)
	if a.Evidence != "" {
		fmt.Fprintf(&b, "\nwhat the record says:\n%s\n", a.Evidence)
	}
	if a.Method == MethodDelegated && len(a.CitedIDs) > 0 {
		fmt.Fprintf(&b, "\ncited: %s\n", prose.Join(a.CitedIDs, " ", 0))
		for _, c := range a.Citations {
			if c.Quote != "" {
				fmt.Fprintf(&b, "  %s (%s): %q\n", c.ID, c.Source(), c.Quote)
			}
		}
	}
	fmt.Fprintf(&b, "\n%s in %s; %s and %d tokens of the record were read\n", a.Method, a.Scope, prose.Plural(a.ExpandedSummaryCount, "summary", "summaries"), a.TotalSourceTokens)
	if a.Reason != "" {
		fmt.Fprintf(&b, "reason: %s\n", a.Reason)
	}
	if a.Truncated {
		fmt.Fprintf(&b, "truncated by %s\n", a.TruncatedBy)
	}
	if len(a.Skipped) > 0 {
		fmt.Fprintf(&b, "skippedConversationIds: %s\n", prose.Join(a.Skipped, " ", 40))
	}
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}
