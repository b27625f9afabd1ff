package recall

import (
	"fmt"
	"strings"
	"time"

	"github.com/lossless-context/lcm/store"
)

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// Text returns the answer as people and models read it: a line that tells what
// was found, then each match with its id, and what to do next. What matched
// stands between « and ».
func (a GrepAnswer) Text() string {
	var b strings.Builder
	total := plural(a.Total, "match", "matches")
	if a.TotalIsLowerBound {
		total = "at least " + total
	}
	fmt.Fprintf(&b, "%s for %q in %s (%s, %s, by %s, %s)\n", total, a.Pattern, a.Scope, a.Kinds, a.Mode, a.Sort, a.Tier)
	last := store.ConversationID(0)
	for _, m := range a.Matches {
		if m.ConversationID != last && a.Scope.Kind != ScopeConversation {
			fmt.Fprintf(&b, "\nconversation %d\n", m.ConversationID)
			last = m.ConversationID
		}
		m.write(&b)
	}
	if a.Elsewhere != nil {
		hits := fmt.Sprint(a.Elsewhere.Hits)
		if a.Elsewhere.AtLeast {
			hits = "at least " + hits
		}
		fmt.Fprintf(&b, "elsewhere: %s in other conversations; %s\n", hits, a.Elsewhere.How)
	}
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if a.NextCursor != "" {
		fmt.Fprintf(&b, "nextCursor: %s\n", a.NextCursor)
	}
	return b.String()
}

func (m Match) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s\n", m.Heading())
	if m.Context != nil {
		writeNeighbours(b, m.Context.Before)
	}
	b.WriteString(indent(m.Mark("«", "»", nil)))
	if m.Truncated {
		b.WriteString(" […]")
	}
	b.WriteString("\n")
	if m.Context != nil {
		writeNeighbours(b, m.Context.After)
	}
}

// Heading tells what a match is and where to go from it.
func (m Match) Heading() string {
	parts := []string{m.ID, m.Type}
	if m.Role != "" {
		parts = append(parts, string(m.Role))
	}
	if m.Depth != nil {
		parts = []string{m.ID, fmt.Sprintf("%s summary of depth %d", m.Kind, *m.Depth)}
	}
	parts = append(parts, minute(m.CreatedAt))
	if m.Type == "file" {
		parts = append(parts, "of "+m.MessageID)
	}
	if m.CoveredBy != "" {
		parts = append(parts, "in "+m.CoveredBy)
	}
	if len(m.FileIDs) > 0 && m.Type != "file" {
		parts = append(parts, "inside "+strings.Join(m.FileIDs, ", "))
	}
	if m.Beside {
		parts = append(parts, "beside a match")
	}
	if m.Retired {
		parts = append(parts, "retired")
	}
	if m.Damaged {
		parts = append(parts, "DAMAGED")
	}
	return strings.Join(parts, " · ")
}

func writeNeighbours(b *strings.Builder, all []Neighbour) {
	for _, n := range all {
		text := n.Snippet
		if n.Truncated {
			text += " […]"
		}
		fmt.Fprintf(b, "  (%s %s) %s\n", n.ID, n.Role, strings.ReplaceAll(text, "\n", " "))
	}
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
