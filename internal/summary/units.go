package summary

import "github.com/lossless-context/lcm/llms"

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
// It is doc.text[start:end], so what is emitted is verbatim by construction.
type unit struct {
	doc        int
	start, end int
	origin     origin
	prior      int64 // who said it and what it sounds like, in 1/1024
	drag       int64 // (tokens+6)^0.9, in 1/1024: what its length costs it
	lo, hi     int   // its features, in the arena
}

// material is everything a summary is made from, taken apart.
type material struct {
	docs    []doc
	units   []unit
	flagged []span       // instruction-like sentences, in order
	omitted []string     // #seq that older summaries had omitted from
	ledgers []ledgerItem // entries of older summaries' ledgers
	blocks  []span       // code, calls and results, in order
}

// span is a range of one doc's text.
type span struct{ doc, start, end int }

// ledgerItem is an entry of an older summary's ledger.
type ledgerItem struct {
	text string
	tool bool
}

// take reads sources in order. A message is a doc; a summary is a doc for
// each of its lines, and its footer is left behind: what it promised to
// expand is reached through the summary itself.
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
		m.ledgers = append(m.ledgers, ledgerItem{text: id})
	}
	for _, id := range b.ToolIdentifiers {
		m.ledgers = append(m.ledgers, ledgerItem{text: id, tool: true})
	}
	m.omitted = append(m.omitted, b.Omitted...)
	if s.Seq == 0 && len(b.Lines) > 0 {
		s.Seq = b.Lines[0].Seq // its own prose comes from about there
	}
	lines, prose := b.Lines, b.Prose
	for len(lines)+len(prose) > 0 {
		// Lines and prose are each in order; the one that comes first in the
		// text comes first here.
		if len(prose) == 0 || len(lines) > 0 && lines[0].At < prose[0].At {
			l := lines[0]
			lines = lines[1:]
			m.docs = append(m.docs, doc{role: l.Role, seq: l.Seq, text: l.Text, tool: l.Role == llms.RoleTool})
			continue
		}
		m.docs = append(m.docs, doc{role: RoleSummary, seq: s.Seq, text: prose[0].Text})
		prose = prose[1:]
	}
}
