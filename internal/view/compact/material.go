package compact

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// material has the sources of a fold.
type material struct {
	sources  []summary.Source
	previous string
	// shape is the summary as the store will make it, without text and id;
	// nodes are the sources that it lists.
	shape store.Summary
	nodes []store.ID
}

// placeholder has the length of an id: the real one is known only after the
// fold. idSlack is how many more tokens another id may cost.
const (
	placeholder = store.SummaryID("sum_0f1e2d3c4b5a6978")
	idSlack     = 4
)

// load reads the sources of a fold and the summary before them.
func (n *run) load(ctx context.Context, f Fold) (*material, error) {
	items, before := n.view.Items[f.From:f.To], n.before(f)
	m := &material{shape: store.Summary{ID: placeholder, Kind: f.Kind, Depth: f.Depth}}
	messages := make([]store.MessageID, 0, len(items))
	var summaries []store.SummaryID
	m.nodes = make([]store.ID, 0, len(items))
	m.sources = make([]summary.Source, 0, len(items))
	for _, it := range items {
		m.nodes = append(m.nodes, it.ID)
		if it.IsSummary() {
			summaries = append(summaries, it.Summary)
		} else {
			messages = append(messages, it.Message)
		}
	}
	if before != "" {
		summaries = append(summaries, before)
	}
	made, err := n.summaries(ctx, summaries)
	if err != nil {
		return nil, err
	}
	if last := len(made) - 1; before != "" && last >= 0 && made[last].ID == before {
		m.previous = made[last].Body
	}
	// Both come in the order in which they were asked for.
	addSummaries := func() {
		for len(items) > 0 && len(made) > 0 && items[0].IsSummary() && items[0].Summary == made[0].ID {
			m.addSummary(made[0])
			items, made = items[1:], made[1:]
		}
	}
	addSummaries()
	for msg, err := range n.store.Messages(ctx, store.MessageQuery{IDs: messages, NoRaw: true}) {
		if err != nil {
			return nil, err
		}
		if len(items) == 0 || items[0].IsSummary() || items[0].Message != msg.ID {
			break
		}
		if msg.Damaged { // a summary must not repeat damaged text
			msg.Body.Parts = []llms.Part{{Kind: llms.PartText, Text: store.DamageNotice}}
		}
		if src := m.addMessage(&msg, items[0].Tokens); msg.Flags&store.FlagEcho == 0 { // lcm's own output is covered, but not summarised
			m.sources = append(m.sources, src)
		}
		items = items[1:]
		addSummaries()
	}
	if len(items) > 0 {
		return nil, fmt.Errorf("%s is in the view: %w", items[0].ID, store.ErrNotFound)
	}
	return m, nil
}

func (n *run) summaries(ctx context.Context, ids []store.SummaryID) (found []store.Summary, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	written := slices.DeleteFunc(slices.Clone(ids), func(id store.SummaryID) bool { _, made := n.batch.made[id]; return made })
	stored := make(map[store.SummaryID]store.Summary, len(written))
	for s, err := range n.store.Summaries(ctx, store.SummaryQuery{IDs: written}) {
		if err != nil {
			return nil, err
		}
		if s.Damaged { // a summary must not repeat damaged text
			s.Body = store.DamagedSummaryNotice
		}
		stored[s.ID] = s
	}
	for _, id := range ids {
		if s, ok := n.batch.made[id]; ok {
			found = append(found, s)
		} else if s, ok := stored[id]; ok {
			found = append(found, s)
		}
	}
	return found, nil
}

// before returns the summary just before a fold, if there is one.
func (n *run) before(f Fold) store.SummaryID {
	if f.From == 0 || (n.view.Skipped > 0 && f.From == n.view.Gap) {
		return ""
	}
	return n.view.Items[f.From-1].Summary
}

func (m *material) addSummary(s store.Summary) {
	m.sources = append(m.sources, summary.Source{ID: string(s.ID), Kind: s.Kind, Time: s.Earliest, Seq: s.Pos, Text: s.Body, Tokens: s.Tokens})
	m.shape.Descendants += 1 + s.Descendants
	m.shape.Messages += s.Messages
	m.cover(s.Earliest, s.Latest)
	m.mention(s.Files...)
}

func (m *material) addMessage(msg *store.Message, tokens int) summary.Source {
	said := msg.Body.Time
	if said.IsZero() {
		said = msg.Stored
	}
	m.shape.Messages++
	m.cover(said, said)
	for _, ref := range store.Refs(msg.Body.Parts) {
		m.mention(store.PayloadID(ref.ID))
	}
	return summary.Source{
		ID: msg.ID.String(), Role: msg.Body.Role, Flags: msg.Flags, Format: msg.Format, Parts: msg.Body.Parts, Time: said, Seq: msg.Seq, Text: msg.Body.Render(), Tokens: tokens,
		Tool: msg.Body.Role == llms.RoleTool || len(msg.Body.ToolResults()) > 0,
	}
}

func (m *material) cover(from, to time.Time) {
	if m.shape.Earliest.IsZero() || from.Before(m.shape.Earliest) {
		m.shape.Earliest = from
	}
	if to.After(m.shape.Latest) {
		m.shape.Latest = to
	}
}

func (m *material) mention(files ...store.PayloadID) {
	for _, f := range files {
		if !slices.Contains(m.shape.Files, f) {
			m.shape.Files = append(m.shape.Files, f)
		}
	}
}

// rendered is the cost of the summary with the given text, as rendered for a
// model.
func (m *material) rendered(c llms.Counter, body string) int {
	s := m.shape
	s.Body = body
	return assemble.SummaryTokens(c, s, m.nodes) + idSlack
}

// floors measures the cost of the shortest summary, and of a source in its list.
func floors(c llms.Counter) (summaryFloor, sourceFloor int) {
	when := time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC)
	m := material{shape: store.Summary{ID: placeholder, Kind: summary.Condensed, Depth: 10, Descendants: 1000, Messages: 10_000, Earliest: when, Latest: when}}
	bare := m.rendered(c, bareText(10_000))
	m.nodes = make([]store.ID, 10)
	for i := range m.nodes {
		m.nodes[i].Summary = placeholder
	}
	return bare, max(1, (m.rendered(c, bareText(10_000))-bare+9)/10)
}
