package cli

import (
	"context"
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
	Summary  *summaryReport `json:"summary,omitempty"`
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
	Count int      `json:"count"`
	First string   `json:"first"`
	Last  string   `json:"last"`
	IDs   []string `json:"ids,omitempty"`
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

type summaryReport struct {
	store.Summary
	Sources  []string `json:"sources,omitempty"`
	Encoding string   `json:"encoding,omitempty"` // of Body
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
	conv, err := rec.pick(ctx, cmd.choice)
	if err != nil {
		return err
	}
	if cmd.html != "" {
		return cmd.writePage(rec, cmd.html, func(s *ui.Server, w io.Writer) error { return s.WriteTree(ctx, w, conv) })
	}
	return (&treeDrawing{program: cmd.program, reader: rec.db, messages: cmd.all, depth: cmd.depth}).print(ctx, conv)
}

// treeDrawing draws the view of a conversation as a tree.
type treeDrawing struct {
	*program
	reader   store.Reader
	messages bool // list every message
	narrow   bool // shorter lines
	depth    int  // levels, 0 for all
}

// print prints the tree of a conversation.
func (d *treeDrawing) print(ctx context.Context, c store.Conversation) error {
	roots, view, err := d.build(ctx, c.ID)
	if err != nil {
		return err
	}
	d.printf("%s\n", d.paint(bold, fmt.Sprintf("conversation %d (%s)", c.ID, clipLeft(safetext.Line(c.Key), 50))))
	d.printf("%s, %s tokens; the view shows %s in %s tokens; times are %s\n", held(c.Messages, c.Erased), prose.Number(c.Tokens),
		prose.Count(len(view.Items), "item", "items"), prose.Number(view.Tokens), prose.Zone(time.Now()))
	d.draw(roots, "")
	return d.emit(treeReport{describeConversation(c), roots})
}

// build reads the view of a conversation and the sources below it.
func (d *treeDrawing) build(ctx context.Context, id store.ConversationID) ([]*treeNode, store.View, error) {
	view, err := d.reader.View(ctx, id, store.Window{})
	if err != nil {
		return nil, view, err
	}
	nodes := make([]store.Node, len(view.Items))
	for i, it := range view.Items {
		nodes[i] = it.Node
	}
	roots, err := d.level(ctx, nodes, 1)
	return roots, view, err
}

// level returns the trees of nodes on a level, counted from 1.
func (d *treeDrawing) level(ctx context.Context, nodes []store.Node, level int) ([]*treeNode, error) {
	trees := []*treeNode{}
	for len(nodes) > 0 {
		n := 1
		for n < len(nodes) && !nodes[n-1].IsSummary() && !nodes[n].IsSummary() {
			n++
		}
		t, err := d.run(ctx, nodes[:n], level)
		if err != nil {
			return nil, err
		}
		trees, nodes = append(trees, t), nodes[n:]
	}
	return trees, nil
}

func (d *treeDrawing) summary(ctx context.Context, id store.SummaryID, level int) (*treeNode, error) {
	s, err := store.First(d.reader.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{id}}))
	if err != nil {
		return nil, err
	}
	s.Body = "" // `lcm show --id` prints it
	colour := []style{cyan, green, yellow}[s.Depth%3]
	line := summaryLine(s)
	if d.narrow {
		line = fmt.Sprintf("%s depth %d · %s · %s → %s tokens", s.ID, s.Depth, prose.Count(s.Messages, "message", "messages"),
			prose.Number(s.MessageTokens), prose.Number(s.Tokens))
	}
	t := &treeNode{Summary: &summaryReport{Summary: s}, drawn: d.paint(colour, line[:len(id)]) + line[len(id):]}
	if level == d.depth {
		t.Below = &belowReport{Summaries: s.Descendants, Messages: s.Messages}
		return t, nil
	}
	sources, err := d.reader.Sources(ctx, id)
	if err != nil {
		return nil, err
	}
	t.Sources, err = d.level(ctx, sources, level+1)
	return t, err
}

// run returns the tree of one summary, or of a run of messages.
func (d *treeDrawing) run(ctx context.Context, nodes []store.Node, level int) (*treeNode, error) {
	if nodes[0].IsSummary() {
		return d.summary(ctx, nodes[0].Summary, level)
	}
	first, last := nodes[0].String(), nodes[len(nodes)-1].String()
	run := &messageRun{Count: len(nodes), First: first, Last: last}
	t := &treeNode{Messages: run, drawn: fmt.Sprintf("%s  %s … %s", prose.Count(len(nodes), "message", "messages"), first, last)}
	if len(nodes) == 1 {
		t.drawn = "1 message  " + first
	}
	if !d.messages {
		return t, nil
	}
	ids := make([]store.MessageID, len(nodes))
	for i, n := range nodes {
		ids[i] = n.Message
	}
	run.IDs = texts(nodes)
	for m, err := range d.reader.Messages(ctx, store.MessageQuery{IDs: ids}) {
		if err != nil {
			return nil, err
		}
		line := fmt.Sprintf("%s %s · %s tokens · %s", m.ID, m.Body.Role, prose.Number(m.Tokens), excerpt(m.Body, 48))
		if !d.json {
			t.Sources = append(t.Sources, &treeNode{drawn: line})
		}
	}
	return t, nil
}

// excerpt returns the beginning of a message on one line.
func excerpt(m llms.Message, width int) string {
	text := m.Render()
	if len(text) > 8*width {
		text = strings.ToValidUTF8(text[:8*width], "")
	}
	return clip(prose.OneLine(safetext.Line(text)), width)
}

func (d *treeDrawing) draw(trees []*treeNode, indent string) {
	for i, t := range trees {
		branch, below := "├─ ", "│  "
		if i == len(trees)-1 {
			branch, below = "└─ ", "   "
		}
		d.printf("%s%s\n", d.paint(dim, indent+branch), t.drawn)
		if t.Below != nil {
			d.printf("%s\n", d.paint(dim, indent+below+"└─ … "+t.Below.String()))
		}
		d.draw(t.Sources, indent+below)
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
