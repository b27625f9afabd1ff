package delegation

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

//go:embed prompts/lcm_describe.md
var describeText string

// Bounds of a description.
const (
	describeTokens = 1_000 // of content; lcm_expand reads the rest
	describeIDs    = 40    // ids of one kind that are listed
)

type describeArgs struct {
	ID string `json:"id" description:"sum_… for a summary, msg_… for a message, file_… for a stored file: one that you may expand"`
}

// describe describes one granted message, summary or file.
func (g *Grant) describe(ctx context.Context, in describeArgs) (string, error) {
	id, err := store.ParseID(in.ID)
	if err != nil {
		return "", err
	}
	holder, err := g.allow(ctx, id)
	if err != nil {
		return "", err
	}
	p := g.newPage(g.pageSize())
	a, err := g.recall.Describe(ctx, recall.DescribeRequest{
		ID: id, Where: recall.Where{AllConversations: true}, // the grant covers it
		MaxTokens: max(1, min(describeTokens, p.size/2)),
	})
	if err != nil {
		return "", err
	}
	facts := p.describe(a, holder)
	g.served.facts += facts
	p.left -= g.count(facts)
	if err := g.settle(ctx, p); err != nil {
		return "", err
	}
	return facts + "\n" + p.text(), nil
}

// describe puts the content of an answer on the page and returns the facts about it. The
// names of files are stored text too, and are shown with the content.
func (p *page) describe(a recall.DescribeAnswer, holder store.MessageID) string {
	var facts strings.Builder
	fmt.Fprintf(&facts, "%s is a %s of %d tokens", a.ID, a.Type, a.TokenCount)
	piece := recall.Piece{
		ID: a.ID, Type: a.Type, ConversationID: a.ConversationID, CreatedAt: a.CreatedAt,
		Text: a.Content, Size: int(a.ByteSize), Complete: a.NextCursor == "", Tokens: p.grant.count(a.Content),
	}
	switch {
	case a.SummaryDetail != nil:
		piece.Depth, piece.Complete = &a.Depth, !a.Truncated
		fmt.Fprintf(&facts, ", depth %d, of %d messages of %d tokens, from %s to %s.", a.Depth, a.MessageCount, a.MessageTokens,
			a.EarliestAt.UTC().Format(time.RFC3339), a.LatestAt.UTC().Format(time.RFC3339))
		listIDs(&facts, "It was made from", a.ParentIDs)
		listIDs(&facts, "It was made from", a.SourceMessageIDs)
		p.take(piece, a.ID)
	case a.MessageDetail != nil:
		piece.Role, piece.Size = a.Role, int(a.ContentSize)
		facts.WriteString(".")
		p.take(piece, store.ID{Message: holder})
	default:
		fmt.Fprintf(&facts, " and %d bytes. It belongs to %s.", a.ByteSize, holder)
		piece.Text = fmt.Sprintf("name: %s\ntype: %s\n%s", a.FileName, a.MIMEType, a.ExplorationSummary)
		piece.Size, piece.Complete, piece.Tokens = len(piece.Text), true, p.grant.count(piece.Text)
		p.put(piece)
		p.grant.served.facts += piece.Text + "\n"
		piece.Text = "" // these are not the words of the file
		p.taken = append(p.taken, taken{Piece: piece, node: store.ID{Message: holder}})
	}
	listIDs(&facts, "Files:", a.FileIDs)
	facts.WriteString(" " + toolname.Expand + " reads it whole.\n")
	return facts.String()
}

func listIDs[T any](b *strings.Builder, head string, ids []T) {
	if len(ids) > 0 {
		fmt.Fprintf(b, " %s %s.", head, prose.Join(ids, ", ", describeIDs))
	}
}
