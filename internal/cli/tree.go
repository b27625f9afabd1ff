package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/ui"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// treeNode is a summary with its sources, or a run of messages.
type treeNode struct {
	Summary  *store.Summary `json:"summary,omitempty"`
	Messages *messageRun    `json:"run,omitempty"`
	Sources  []*treeNode    `json:"sources,omitempty"`
	Below    *belowReport   `json:"below,omitempty"` // counts of the nodes that --depth left out

	drawn string
}

// treeReport is the tree of a conversation.
type treeReport struct {
	conversationReport
	View []*treeNode `json:"view"`
}

type messageRun struct {
	Count int    `json:"count"`
	First string `json:"first"`
	Last  string `json:"last"`
}

type belowReport struct {
	Summaries int `json:"summaries"`
	Messages  int `json:"messages"`
}

func (b belowReport) String() string {
	if b.Summaries == 0 {
		return prose.Count(b.Messages, "message", "messages") + " below"
	}
	return prose.Count(b.Summaries, "summary", "summaries") + " and " + prose.Count(b.Messages, "message", "messages") + " below"
}

// summaryLine describes a summary in one line.
func summaryLine(s store.Summary) string {
	method := safetext.Line(s.Method)
	if s.Level != summary.Normal && string(s.Level) != s.Method {
		method += "/" + string(s.Level)
	}
	return fmt.Sprintf("%s d%d %s · %s · %s → %s tokens · %s · %s", s.ID, s.Depth, s.Kind, prose.Count(s.Messages, "message", "messages"),
		prose.Number(s.MessageTokens), prose.Number(s.Tokens), method, span(s.Earliest, s.Latest))
}

// span writes a range of time as short as it can be told.
func span(from, to time.Time) string {
	from, to = from.Local(), to.Local()
	if from.Format(time.DateOnly) == to.Format(time.DateOnly) {
		return from.Format("01-02 15:04") + "–" + to.Format("15:04")
	}
	return from.Format("01-02") + " – " + to.Format("01-02")
}

// showTree draws the view of a conversation, or writes it as a page.
func (cmd *showCommand) showTree(ctx context.Context, rec *openRecord) error {
	c, err := rec.pick(ctx, cmd.choice)
	if err != nil {
		return err
	}
	if cmd.html != "" {
		return cmd.writePage(rec, cmd.html, func(s *ui.Server, w io.Writer) error { return s.WriteTree(ctx, w, c) })
	}
	view, err := rec.db.View(ctx, c.ID, store.Window{})
	if err != nil {
		return err
	}
	nodes := make([]store.ID, len(view.Items))
	for i, it := range view.Items {
		nodes[i] = it.ID
	}
	roots, err := cmd.level(ctx, rec.db, nodes, 1)
	if err != nil {
		return err
	}
	name := cmd.paint(bold, fmt.Sprintf("conversation %d (%s)", c.ID, clipLeft(safetext.Line(c.Key), 50)))
	if c.Damaged || view.Damaged {
		cmd.damaged++
		name += rowDamaged
	}
	cmd.printf("%s\n", name)
	cmd.printf("%s, %s tokens; the view shows %s in %s tokens; times are %s\n", held(c.Messages, c.Erased), prose.Number(c.Tokens),
		prose.Count(len(view.Items), "item", "items"), prose.Number(view.Tokens), prose.Zone(time.Now()))
	cmd.draw(roots, "")
	return errors.Join(cmd.emit(treeReport{describeConversation(c), roots}), damageShown(cmd.damaged))
}

// rowDamaged marks a conversation or a summary that is shown without its text.
const rowDamaged = " [damaged: it is not what was written]"

// level returns the trees of nodes on a level, counted from 1.
func (cmd *showCommand) level(ctx context.Context, r store.Reader, nodes []store.ID, level int) ([]*treeNode, error) {
	trees := []*treeNode{}
	for n := 0; len(nodes) > 0; nodes = nodes[n:] {
		if nodes[0].IsSummary() {
			t, err := cmd.summary(ctx, r, nodes[0].Summary, level)
			if err != nil {
				return nil, err
			}
			trees, n = append(trees, t), 1
			continue
		}
		for n = 1; n < len(nodes) && !nodes[n].IsSummary(); n++ {
		}
		run := &messageRun{Count: n, First: nodes[0].String(), Last: nodes[n-1].String()}
		line := "1 message  " + run.First
		if n > 1 {
			line = fmt.Sprintf("%s messages  %s … %s", prose.Number(n), run.First, run.Last)
		}
		trees = append(trees, &treeNode{Messages: run, drawn: line})
	}
	return trees, nil
}

// summary returns the tree of a summary.
func (cmd *showCommand) summary(ctx context.Context, r store.Reader, id store.SummaryID, level int) (*treeNode, error) {
	s, err := store.First(r.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{id}}))
	if err != nil {
		return nil, err
	}
	s.Body = "" // `lcm describe` prints it
	line := summaryLine(s)
	if s.Damaged { // its sources may be others, also itself
		cmd.damaged++
		return &treeNode{Summary: &s, drawn: line + rowDamaged}, nil
	}
	t := &treeNode{Summary: &s, drawn: cmd.paint([]style{cyan, green, yellow}[s.Depth%3], line[:len(id)]) + line[len(id):]}
	if level == cmd.depth {
		t.Below = &belowReport{Summaries: s.Descendants, Messages: s.Messages}
		return t, nil
	}
	sources, err := r.Sources(ctx, id)
	if err == nil {
		t.Sources, err = cmd.level(ctx, r, sources, level+1)
	}
	return t, err
}

// excerpt returns the beginning of a message on one line.
func excerpt(m llms.Message, width int) string {
	text := m.Render()
	if len(text) > 8*width {
		text = strings.ToValidUTF8(text[:8*width], "")
	}
	return clip(prose.OneLine(safetext.Line(text)), width)
}

func (cmd *showCommand) draw(trees []*treeNode, indent string) {
	for i, t := range trees {
		branch, below := "├─ ", "│  "
		if i == len(trees)-1 {
			branch, below = "└─ ", "   "
		}
		cmd.printf("%s%s\n", cmd.paint(dim, indent+branch), t.drawn)
		if t.Below != nil {
			cmd.printf("%s\n", cmd.paint(dim, indent+below+"└─ … "+t.Below.String()))
		}
		cmd.draw(t.Sources, indent+below)
	}
}

func roleStyle(r llms.Role) style {
	switch r {
	case llms.RoleUser:
		return green
	case llms.RoleAssistant:
		return cyan
	}
	return dim
}
