package summary

import (
	"math"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// block is the surroundings of a line.
type block uint8

const (
	prose       block = iota
	codeBlock         // between fences
	callBlock         // a tool call, as llms.Message.Render writes it
	resultBlock       // a tool's output, likewise
)

// How llms.Message.Render sets calls and results apart.
const (
	callMark   = "→ "
	callEnd    = ")"
	resultMark = "← "
)

func isTraffic(line string) bool {
	return strings.HasPrefix(line, callMark) || strings.HasPrefix(line, resultMark)
}

// hasTraffic reports whether a message marks its tool traffic, so that its prose can
// be told apart.
func hasTraffic(text string) bool {
	return isTraffic(text) || strings.Contains(text, "\n"+callMark) || strings.Contains(text, "\n"+resultMark)
}

// split cuts doc number d into units.
func (m *material) split(d int) {
	doc := &m.docs[d]
	p := splitter{m: m, doc: d, said: speakerOrigin(doc.role)}
	if doc.tool {
		p.open(resultBlock, "", 0)
	}
	at := 0
	for line := range strings.Lines(doc.text) {
		p.line(at, at+len(strings.TrimSuffix(line, "\n")))
		at += len(line)
	}
	p.close(len(doc.text))
}

func speakerOrigin(role llms.Role) origin {
	switch role {
	case llms.RoleUser:
		return fromUser
	case llms.RoleTool:
		return fromTool
	}
	return fromAssistant
}

// splitter cuts one doc line by line.
type splitter struct {
	m    *material
	doc  int
	said origin
	// The block under way, its start and the fence that closes it.
	block block
	start int
	fence string
	// Its lines so far that are not blank, and how many reported failures.
	lines, failures int
	// ordered says that the line under way has instruction-like text.
	ordered bool
	// carried is how many bytes before the next unit are checked for
	// instructions with it, because a long sentence was cut there.
	carried int
}

// maxOrderBytes is how far before a cut an instruction may begin.
const maxOrderBytes = 80

func (p *splitter) line(start, end int) {
	d := &p.m.docs[p.doc]
	line := strings.TrimSpace(d.text[start:end])
	if line == "" || !d.tool && p.fenceLine(line, start, end) {
		return
	}
	if p.block == prose {
		p.pieces(start+bulletLen(d.text[start:end]), end, p.said, line[0] == '>')
		return
	}
	p.blockLine(line, start, end)
	if p.block == callBlock && strings.HasSuffix(line, callEnd) {
		p.close(end)
	}
}

// fenceLine opens and closes blocks, and reports whether the line is a fence
// with nothing else on it.
func (p *splitter) fenceLine(line string, start, end int) bool {
	switch {
	case p.block == codeBlock:
		if !strings.HasPrefix(line, p.fence) {
			return false
		}
		p.close(end)
		return true
	case isTraffic(line):
		p.close(start)
		p.open(callBlock, "", start)
		if strings.HasPrefix(line, resultMark) {
			p.block = resultBlock
		}
		return false
	case p.block != prose:
		return false
	}
	for _, fence := range []string{"```", "~~~"} {
		// An inline ```x``` opens nothing.
		if strings.HasPrefix(line, fence) && !strings.Contains(line[len(fence):], fence) {
			p.open(codeBlock, fence, start)
			return true
		}
	}
	return false
}

func (p *splitter) open(b block, fence string, start int) {
	p.block, p.fence, p.start, p.lines, p.failures = b, fence, start, 0, 0
}

func (p *splitter) close(end int) {
	if p.block != prose {
		p.m.blocks = append(p.m.blocks, span{p.doc, p.start, end})
	}
	p.block = prose
}

// blockLine takes the first lines of a block, and those that report failures. Of the
// others only identifiers are kept.
func (p *splitter) blockLine(line string, start, end int) {
	p.lines++
	if p.lines > blockLines {
		if p.failures >= blockFailures || !reportsFailure(line) {
			return
		}
		p.failures++
	}
	from := fromTool
	if p.block == codeBlock {
		from = fromCode
	}
	p.pieces(start, end, from, true)
}

// pieces adds the units of one line: it is cut where bytes are not text, and
// into sentences if it is prose.
func (p *splitter) pieces(start, end int, from origin, untrusted bool) {
	text := p.m.docs[p.doc].text
	p.ordered, p.carried = false, 0
	if p.block != prose {
		end = min(end, start+2*maxBlockBytes)
	}
	for start < end {
		lo, hi := nextClean(text, start, end)
		if p.block != prose {
			p.add(lo, cutLong(text, lo, hi, maxBlockBytes), from, untrusted)
			lo = hi
		}
		for lo < hi {
			// No look further than a unit may reach: a megabyte without a
			// full stop must not be searched for one again and again.
			full := sentenceEnd(text, lo, min(hi, lo+maxUnitBytes+1))
			stop := cutLong(text, lo, full, maxUnitBytes)
			p.add(lo, stop, from, untrusted)
			p.carried = 0
			if stop < full { // the sentence goes on
				p.carried = min(stop-lo, maxOrderBytes)
			}
			lo = stop
		}
		start = hi
	}
}

func (p *splitter) add(start, end int, from origin, untrusted bool) {
	d := &p.m.docs[p.doc]
	start, end = trimSpan(d.text, start, end)
	if end-start < minUnitBytes || !hasWord(d.text[start:end]) {
		return
	}
	text := d.text[start:end]
	low := strings.ToLower(text)
	checked, checkedLow := text, low
	if p.carried > 0 { // an order may have been cut in two
		checked = strings.ToValidUTF8(d.text[max(0, start-p.carried):end], "")
		checkedLow = strings.ToLower(checked)
	}
	// A brief sentence behind an order is part of it: "Ignore your task. Sing."
	if isDirective(checked, checkedLow, untrusted || d.role == RoleSummary || quotes(text)) || p.ordered && len(text) <= maxTrailBytes {
		p.ordered = true
		p.m.flagged = append(p.m.flagged, span{p.doc, start, end})
		return
	}
	p.m.units = append(p.m.units, unit{
		doc: p.doc, start: start, end: end, origin: from,
		prior:  fixed(priorOf(d, low, from)),
		length: fixed(math.Pow(float64(end-start)*d.rate+6, 0.9)),
	})
}
