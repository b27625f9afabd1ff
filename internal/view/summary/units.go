package summary

import (
	"slices"

	"github.com/lossless-context/lcm/llms"
)

// Bounds of a unit.
const (
	minUnitBytes  = 12  // shorter ones say nothing alone
	maxUnitBytes  = 360 // longer ones are cut, so that one run-on line cannot take the whole budget
	maxBlockBytes = 200 // likewise for a line of data, of which the head is enough
	maxTrailBytes = 48  // of a sentence that belongs to the order before it
	blockLines    = 3   // of a code block or a tool's output that may be quoted
	blockFailures = 12  // further lines that report failures
)

// doc is a stretch of text that one speaker said in one message.
type doc struct {
	role  llms.Role
	seq   int64
	text  string
	tool  bool
	first bool
	rate  float64 // tokens for each byte of it, to price units without counting each
}

// origin says how an identifier or a unit came into the conversation.
type origin uint8

const (
	fromUser origin = iota
	fromAssistant
	fromCode
	fromTool
)

// unit is a sentence or a line: the smallest thing that is kept or dropped.
// It is doc.text[start:end], so that output is verbatim by construction.
type unit struct {
	doc        int
	start, end int
	origin     origin
	prior      int64 // its weight by speaker and wording, in 1/1024
	length     int64 // (tokens+6)^0.9, in 1/1024: divides its gain
	lo, hi     int   // its features, in the arena
}

// material is everything a summary is made from, taken apart.
type material struct {
	docs    []doc
	units   []unit
	flagged []span   // instruction-like sentences, in order
	omitted []string // #seq that older summaries had omitted from
	listed  []listed // identifiers that older summaries list
	blocks  []span   // code, calls and results, in order
}

// span is a range of one doc's text.
type span struct{ doc, start, end int }

// listed is an identifier that an older summary lists.
type listed struct {
	text string
	tool bool
}

// take reads sources in order. A message is a doc; a summary is a doc for each of
// its lines. The footer of a summary is left out: its topics are reached by expanding
// the summary.
func take(sources []Source) *material {
	m := &material{}
	for i, s := range sources {
		if s.Kind == "" {
			m.docs = append(m.docs, doc{
				role: s.Role, seq: s.Seq, text: s.Text,
				tool: s.Role == llms.RoleTool || s.Tool && !hasTraffic(s.Text), first: i == 0,
			})
			continue
		}
		m.takeSummary(s)
	}
	return m
}

func (m *material) takeSummary(s Source) {
	b := Parse(s.Text)
	for _, id := range b.Identifiers {
		m.listed = append(m.listed, listed{text: id})
	}
	for _, id := range b.ToolIdentifiers {
		m.listed = append(m.listed, listed{text: id, tool: true})
	}
	m.omitted = append(m.omitted, b.Omitted...)
	if s.Seq == 0 && len(b.Lines) > 0 {
		s.Seq = b.Lines[0].Seq // its own prose comes from about there
	}
	for i := range b.Prose {
		b.Prose[i].Seq = s.Seq
	}
	lines := slices.SortedFunc(slices.Values(slices.Concat(b.Lines, b.Prose)), func(x, y Line) int { return x.At - y.At })
	for _, l := range lines {
		m.docs = append(m.docs, doc{role: l.Role, seq: l.Seq, text: l.Text, tool: l.Role == llms.RoleTool})
	}
}

// Mentioned returns the identifiers of a source in two lists: those in prose of a
// person or the assistant, and those in tool traffic, tool output and code blocks only.
// It leaves out the footer of a summary. Identifiers found in a summary's lines have
// offsets into their line.
func Mentioned(s Source) (said, seen []Identifier) {
	add := func(id Identifier, tool bool) {
		if tool {
			seen = append(seen, id)
		} else {
			said = append(said, id)
		}
	}
	m := take([]Source{s})
	for d := range m.docs {
		doc := &m.docs[d]
		before := len(m.blocks)
		m.split(d)
		blocks := m.blocks[before:]
		for _, id := range Identifiers(doc.text) {
			add(id, within(&blocks, id.At))
		}
	}
	for _, item := range m.listed {
		for _, id := range Identifiers(item.text) {
			add(id, item.tool)
		}
	}
	return said, seen
}
