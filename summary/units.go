package summary

import (
	"math"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// Bounds of a unit.
const (
	minUnitBytes  = 12  // shorter ones say nothing alone
	maxUnitBytes  = 360 // longer ones are cut, so that one run-on line cannot take the whole budget
	maxFenceBytes = 200 // likewise for a line of data, of which the head is enough
	fencedLines   = 3   // of a code block or a tool's output that may be quoted
	fencedErrors  = 12  // further lines that report failures
	firstPrior    = 1.15
	cuePrior      = 1.15
	userPrior     = 1.6
	toolPrior     = 0.5
	questionPrior = 0.35
	ackPrior      = 0.25
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
	fences  []span       // where code blocks lie, in order
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

// split cuts doc number d into units.
func (m *material) split(d int) {
	doc := &m.docs[d]
	p := splitter{m: m, doc: d}
	if doc.tool {
		p.fenced, p.origin = true, fromTool
	} else {
		p.origin = speakerOrigin(doc.role)
	}
	for at := 0; at < len(doc.text); {
		end := strings.IndexByte(doc.text[at:], '\n')
		if end < 0 {
			end = len(doc.text)
		} else {
			end += at
		}
		p.line(at, end)
		at = end + 1
	}
	if p.fenced && !doc.tool {
		m.fences = append(m.fences, span{d, p.fenceStart, len(doc.text)})
	}
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
	m          *material
	doc        int
	origin     origin
	fenced     bool // inside a code block, a call, or a tool's output
	fenceStart int
	fence      string // what closes the block: a mark, callEnd or resultEnd
	lines      int    // non-blank lines of the block so far
	errors     int
}

func (p *splitter) line(start, end int) {
	d := &p.m.docs[p.doc]
	line := strings.TrimSpace(d.text[start:end])
	if line == "" {
		return
	}
	if !d.tool && p.fenceMark(line, start, end) {
		return
	}
	if p.fenced {
		p.fencedLine(line, start, end)
		return
	}
	quoted := line[0] == '>'
	start += bulletLen(d.text[start:end])
	p.pieces(start, end, p.origin, quoted, true)
}

// What closes a block that a transcript opened, rather than a person.
const (
	callEnd   = ")"
	resultEnd = ""
)

// fenceMark handles the lines that open and close code blocks, and the marks
// with which a rendered message sets tool traffic apart from what was said.
// It reports whether the line is a mark and nothing else.
func (p *splitter) fenceMark(line string, start, end int) bool {
	traffic := isTraffic(line)
	if p.fenced {
		switch {
		case p.fence == resultEnd && !traffic, p.fence != resultEnd && p.fence != callEnd && !strings.HasPrefix(line, p.fence):
			return false
		case p.fence == callEnd && !traffic:
			if strings.HasSuffix(line, callEnd) {
				p.close(end)
				p.fencedLine(line, start, end)
				return true
			}
			return false
		case p.fence == resultEnd || p.fence == callEnd:
			p.close(start) // and the next block opens below
		default:
			p.close(end)
			return true
		}
	}
	if traffic {
		if strings.HasPrefix(line, resultMark) {
			p.open(resultEnd, start)
			return false
		}
		p.open(callEnd, start)
		if strings.HasSuffix(line, callEnd) {
			p.close(end)
			p.fencedLine(line, start, end)
			return true
		}
		return false
	}
	for _, mark := range []string{"```", "~~~"} {
		// An inline ```x``` opens nothing.
		if strings.HasPrefix(line, mark) && !strings.Contains(line[len(mark):], mark) {
			p.open(mark, start)
			return true
		}
	}
	return false
}

func (p *splitter) open(closedBy string, start int) {
	p.fenced, p.fence, p.fenceStart, p.lines, p.errors = true, closedBy, start, 0, 0
}

func (p *splitter) close(end int) {
	p.fenced = false
	p.m.fences = append(p.m.fences, span{p.doc, p.fenceStart, end})
}

// How llms.Message.Render sets calls and results apart.
const (
	callMark   = "→ "
	resultMark = "← "
)

func isTraffic(line string) bool {
	return strings.HasPrefix(line, callMark) || strings.HasPrefix(line, resultMark)
}

// hasTraffic reports whether a message marks its own tool traffic, so that
// what was said beside it can be told apart.
func hasTraffic(text string) bool {
	return isTraffic(text) || strings.Contains(text, "\n"+callMark) || strings.Contains(text, "\n"+resultMark)
}

// fencedLine takes the first lines of a block, and those that report
// failures; the rest can only be named by the ledger and the footer.
func (p *splitter) fencedLine(line string, start, end int) {
	p.lines++
	if p.lines > fencedLines {
		if p.errors >= fencedErrors || !reportsFailure(line) {
			return
		}
		p.errors++
	}
	from := fromCode
	if p.m.docs[p.doc].tool {
		from = fromTool
	}
	p.pieces(start, end, from, true, false)
}

// pieces adds the units of one line: it is cut where bytes are not text, then
// into sentences if it is prose.
func (p *splitter) pieces(start, end int, from origin, untrusted, prose bool) {
	text := p.m.docs[p.doc].text
	for start < end {
		lo, hi := nextClean(text, start, end)
		if lo >= end {
			return
		}
		for lo < hi {
			stop := hi
			if prose {
				stop = sentenceEnd(text, lo, hi)
			}
			if !prose {
				p.add(lo, cutLong(text, lo, stop, maxFenceBytes), from, untrusted)
				break
			}
			stop = cutLong(text, lo, stop, maxUnitBytes)
			p.add(lo, stop, from, untrusted)
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
	untrusted = untrusted || from >= fromCode || d.role == RoleSummary
	if isDirective(text, low, untrusted || quotes(text)) {
		p.m.flagged = append(p.m.flagged, span{p.doc, start, end})
		return
	}
	p.m.units = append(p.m.units, unit{
		doc: p.doc, start: start, end: end, origin: from,
		prior: fixed(prior(d, low, from)),
		drag:  fixed(math.Pow(float64(end-start)*d.rate+6, 0.9)),
	})
}

// quotes reports whether a sentence carries a quotation.
func quotes(s string) bool {
	return strings.ContainsAny(s, "\"“”«»「」`")
}

// prior weighs a unit by who said it and what it sounds like.
func prior(d *doc, low string, from origin) float64 {
	w := 1.0
	switch from {
	case fromUser:
		w = userPrior
	case fromCode, fromTool:
		w = toolPrior
	}
	if d.first {
		w *= firstPrior
	} else if containsAny(low, cues) {
		w *= cuePrior
	}
	if from == fromAssistant && endsAsking(low) {
		w *= questionPrior
	}
	if isAck(low) {
		w *= ackPrior
	}
	return w
}

func endsAsking(s string) bool {
	s = strings.TrimRight(s, ")\"'”’* ")
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
}

// isAck reports greetings, thanks, and announcements of what comes next.
func isAck(low string) bool {
	if len(low) > 90 {
		return false
	}
	for _, a := range announcements {
		if strings.HasPrefix(low, a) {
			return true
		}
	}
	if len(low) > 45 {
		return false
	}
	for _, a := range acks {
		if rest, ok := strings.CutPrefix(low, a); ok && (rest == "" || !isWordByte(rest[0])) {
			return true
		}
	}
	return false
}

func reportsFailure(line string) bool {
	if len(line) > 4*maxUnitBytes {
		line = line[:4*maxUnitBytes]
	}
	return containsAny(strings.ToLower(line), failures)
}

var (
	cues = []string{"decid", "decision", "agree", "must", "never", "always", "fix", "error", "root cause", "prefer", "deadline", "todo",
		"because", "instead of", "remember", "important", "do not", "don't", "conclusion", "turns out", "caused by", "requirement",
		"必须", "决定", "错误", "因为", "修复", "不要", "必要", "決定", "エラー", "원인", "결정", "ошибк", "решил", "потому", "нужно", "нельзя", "entschied", "weil", "fehler"}
	acks = []string{"thanks", "thank you", "ok", "okay", "great", "sure", "hi", "hello", "hey", "perfect", "sounds good", "got it", "good",
		"nice", "cool", "done", "yes", "no", "please", "will do", "understood", "right", "excellent", "awesome", "you're welcome", "good morning",
		"спасибо", "привет", "danke", "hallo", "merci", "bonjour", "gracias", "hola"}
	announcements = []string{"let me ", "i'll ", "i will ", "now let", "let's ", "now i'll", "first, let me", "looking at ", "here is ", "here's ",
		"谢谢", "好的", "你好", "ありがとう", "こんにちは", "감사"}
	failures = []string{"error", "fail", "panic", "fatal", "exception", "traceback", "denied", "not found", "undefined", "cannot ", "refused",
		"timed out", "timeout", "exit code", "exit status", "exited with", "segfault", "assert", "错误", "失败", "エラー", "ошибка"}
)
