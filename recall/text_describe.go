package recall

import (
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/record"
)

// Text returns the answer as people and models read it: the details of the
// thing line by line, then its content between two rules.
func (a DescribeAnswer) Text() string {
	var b strings.Builder
	switch {
	case a.SummaryDetail != nil:
		a.writeSummary(&b)
	case a.FileDetail != nil:
		a.writeFile(&b)
	case a.MessageDetail != nil:
		a.writeMessage(&b)
	}
	list(&b, "files", a.FileIDs)
	switch {
	case a.Damaged && a.SummaryDetail == nil:
		fmt.Fprintf(&b, "%s\n", record.DamageNotice)
	case a.Damaged && a.Offset > 0: // the first page begins with it
		fmt.Fprintf(&b, "%s\n", record.DamagedSummaryNotice)
	}
	content, encoding := encode(a.Content)
	title := "content"
	if a.Truncated {
		title = fmt.Sprintf("content from byte %d", a.Offset)
	}
	if encoding != "" {
		title += " (" + encoding + ")"
	}
	rule := fence(content)
	fmt.Fprintf(&b, "\n%s %s %s\n%s\n%s end %s\n", rule, title, rule, strings.TrimSuffix(content, "\n"), rule, rule)
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if a.NextCursor != "" {
		fmt.Fprintf(&b, "nextCursor: %s\n", a.NextCursor)
	}
	return b.String()
}

// list writes a line with ids.
func list[T any](b *strings.Builder, label string, ids []T) {
	if len(ids) > 0 {
		fmt.Fprintf(b, "%s: %s\n", label, prose.Join(ids, " ", 40))
	}
}

func (a DescribeAnswer) writeSummary(b *strings.Builder) {
	fmt.Fprintf(b, "%s · %s summary of depth %d · conversation %d · %s\n", a.ID, a.Kind, a.Depth, a.ConversationID, prose.Plural(a.TokenCount, "token", "tokens"))
	fmt.Fprintf(b, "covers %s (%d tokens) from %s to %s, with %s between\n", prose.Plural(a.MessageCount, "message", "messages"), a.MessageTokens,
		minute(a.EarliestAt), minute(a.LatestAt), prose.Plural(a.DescendantCount, "summary", "summaries"))
	how := a.Method
	if a.Model != "" {
		how += " by " + a.Model
	}
	fmt.Fprintf(b, "made %s, %s, level %s", minute(a.CreatedAt), how, a.Level)
	if a.Revision > 0 {
		fmt.Fprintf(b, ", reworded %d times", a.Revision)
	}
	if a.Retired {
		b.WriteString(", retired by a rewind")
	}
	b.WriteString("\n")
	list(b, "made from (parentIds)", a.ParentIDs)
	list(b, "made from messages", a.SourceMessageIDs)
	list(b, "went into (childIds)", a.ChildIDs)
}

func (a DescribeAnswer) writeFile(b *strings.Builder) {
	fmt.Fprintf(b, "%s · %s · %s · %s · %s\n", a.ID, orNone(a.FileName, "no name"), orNone(a.MIMEType, "unknown type"),
		prose.Plural(int(a.ByteSize), "byte", "bytes"), prose.Plural(a.TokenCount, "token", "tokens"))
	fmt.Fprintf(b, "stored at %s on %s, sha256 %s\n", a.StoragePath, minute(a.CreatedAt), a.SHA256)
	if a.OriginalPath != "" {
		fmt.Fprintf(b, "from %s\n", a.OriginalPath)
	}
	list(b, "belongs to", a.MessageIDs)
	if a.ExplorationSummary != "" {
		fmt.Fprintf(b, "what is in it: %s\n", a.ExplorationSummary)
	}
}

func (a DescribeAnswer) writeMessage(b *strings.Builder) {
	fmt.Fprintf(b, "%s · %s · message %d of conversation %d · %s · %s\n", a.ID, a.Role, a.Seq, a.ConversationID, minute(a.CreatedAt), prose.Plural(a.TokenCount, "token", "tokens"))
	fmt.Fprintf(b, "record: %s, %s, sha256 %s\n", prose.Plural(int(a.ByteSize), "byte", "bytes"), a.Format, a.SHA256)
	if len(a.Flags) > 0 {
		fmt.Fprintf(b, "flags: %s\n", strings.Join(a.Flags, ", "))
	}
	if len(a.CoveringIDs) == 0 {
		b.WriteString("covered by no summary\n")
	}
	list(b, "covered by, up to the view", a.CoveringIDs)
	for _, n := range []struct {
		label string
		*Neighbour
	}{{"before", a.Previous}, {"after", a.Next}} {
		if n.Neighbour != nil {
			text, _, _ := strings.Cut(n.Snippet, "\n")
			fmt.Fprintf(b, "%s: %s (%s) %s\n", n.label, n.ID, n.Role, prose.Clip(text, 80))
		}
	}
}

// fence returns a rule that begins no line of the texts: stored text is not to
// be trusted, and could otherwise pretend to end where it does not.
func fence(texts ...string) string {
	rule := "---"
	for _, text := range texts {
		for strings.HasPrefix(text, rule) || strings.Contains(text, "\n"+rule) || strings.Contains(text, "\r"+rule) {
			rule += "-"
		}
	}
	return rule
}

func orNone(s, none string) string {
	if s == "" {
		return none
	}
	return s
}

// Text returns the answer as people and models read it: each piece under a
// line that names its kind and whether it is whole.
func (a ExpandAnswer) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "beneath %s: %s in all, %d tokens; this page: %s, %d tokens\n", prose.Join(a.SummaryIDs, ", ", 0),
		prose.Plural(a.MessageCount, "message", "messages"), a.MessageTokens, prose.Plural(len(a.Pieces), "piece", "pieces"), a.Tokens)
	texts := make([]string, len(a.Pieces))
	for i, p := range a.Pieces {
		texts[i], _ = encode(p.Text)
	}
	rule := fence(texts...)
	for i, p := range a.Pieces {
		fmt.Fprintf(&b, "\n%s %s %s\n%s\n", rule, p.Heading(), rule, strings.TrimSuffix(texts[i], "\n"))
	}
	if len(a.Pieces) > 0 {
		fmt.Fprintf(&b, "%s end %s\n", rule, rule)
	}
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if a.NextCursor != "" {
		fmt.Fprintf(&b, "nextCursor: %s\n", a.NextCursor)
	}
	return b.String()
}

// Heading names the kind of a piece, and which part of it this is.
func (p Piece) Heading() string {
	what := string(p.Role)
	if p.Depth != nil {
		what = fmt.Sprintf("summary of depth %d", *p.Depth)
	}
	about := fmt.Sprintf("%s · %s · %s", p.ID, what, minute(p.CreatedAt))
	if p.Offset > 0 || !p.Complete {
		about += fmt.Sprintf(" · bytes %d to %d of %d", p.Offset, p.Offset+len(p.Text), p.Size)
	}
	if _, encoding := encode(p.Text); encoding != "" {
		about += " · " + encoding
	}
	if p.Damaged {
		about += " · DAMAGED"
	}
	return about
}
