package summary

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm/llms"
)

// HasFooter reports whether the last line of text begins with Footer.
func HasFooter(text string) bool {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	last := text[strings.LastIndexByte(text, '\n')+1:]
	return strings.HasPrefix(last, Footer) && len(last) > len(Footer)
}

// EnsureFooter returns text with a last line that begins with Footer. A text
// that has one loses only the space at its end; a last line that differs in case or
// emphasis is corrected; otherwise the footer names the topics of the sources that
// text does not mention.
func EnsureFooter(text string, r Request) string {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	if HasFooter(text) {
		return text
	}
	at := strings.LastIndexByte(text, '\n') + 1
	if rest, ok := cutFooter(text[at:]); ok && rest != "" {
		return text[:at] + Footer + rest
	}
	if text != "" {
		text += "\n"
	}
	m, f, _, _ := analyse(r.Sources, counter(r), func() error { return nil })
	covered := make([]uint8, len(f.kind))
	w := wordScanner{text: text}
	for w.next() {
		if id, ok := f.has(stemFeature, w.key); ok {
			covered[id] = 1
		}
	}
	terms := droppedTerms(m, f, covered, func(u int) bool { return strings.Contains(text, m.text(u)) })
	return text + renderFooter(m, terms, max(minFooter, r.Target/10), counter(r).Count)
}

// cutFooter returns the rest of a line after the words of the footer, in any case and
// emphasis.
func cutFooter(line string) (string, bool) {
	trimmed := strings.TrimLeft(line, "*_#-> ")
	words := strings.TrimRight(Footer, ": ")
	if len(trimmed) < len(words) || !strings.EqualFold(trimmed[:len(words)], words) {
		return "", false
	}
	return strings.Trim(trimmed[len(words):], "*_: "), true
}

// Bounds on the cost of the footer, in tokens.
const (
	minFooter = 24
	maxFooter = 200
)

// Most neighbouring words that make a term: three, or five overlapping pairs
// of characters, which are six characters.
const (
	termWords = 3
	termPairs = 5
)

// term is a candidate for the footer: neighbouring content words of dropped
// units, named as they first stand there.
type term struct {
	text     string
	stems    [termPairs]int32
	n        int
	tf       int
	prior    int64
	from, to int64
	score    int64
}

// gram is a word that the terms under construction may extend.
type gram struct {
	start, end int
	id         int32
}

// droppedTerms ranks the terms of the units that were not kept, without those that
// the kept ones cover.
func droppedTerms(m *material, f *features, covered []uint8, kept func(u int) bool) []term {
	t := termTable{index: map[uint64]int{}}
	for u := range m.units {
		if m.units[u].origin >= fromCode || kept(u) {
			continue
		}
		t.unit(m, f, covered, u)
	}
	for i := range t.terms {
		e := &t.terms[i]
		sum := int64(0)
		for _, id := range e.stems[:e.n] {
			if covered[id] == 0 {
				sum += f.weight[id]
			}
		}
		e.score = sum * e.prior / 1024 * fixed(e.appeal()) / 1024
	}
	slices.SortStableFunc(t.terms, func(a, b term) int { return cmp.Compare(b.score, a.score) })
	return t.terms
}

// appeal is how well a term serves as a cue, apart from the weight of its words. Two
// words say more than one, and three little more than two. Repetition raises it; a
// wide span, and a single word without a capital, lower it.
func (e *term) appeal() float64 {
	a := (1 + 0.3*math.Log(float64(e.tf))) / math.Pow(float64(e.n), 0.6)
	if e.n == 1 && (!startsName(e.text) || len(e.text) < 4) {
		a *= 0.5
	}
	return a / math.Sqrt(1+float64(e.to-e.from)/16)
}

func startsName(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r) || spaceless(r)
}

type termTable struct {
	index map[uint64]int
	terms []term
}

// unit adds the terms of unit u.
func (t *termTable) unit(m *material, f *features, covered []uint8, u int) {
	unit := &m.units[u]
	text := m.text(u)
	seq := m.docs[unit.doc].seq
	var room [termPairs]gram
	run := room[:0] // the last neighbouring content words
	w := wordScanner{text: text}
	for w.next() {
		id, ok := f.has(stemFeature, w.key)
		if w.stop || !ok || isDigit(text[w.start]) {
			run = run[:0]
			continue
		}
		if len(run) > 0 && !adjacent(text, run[len(run)-1].end, w.start) {
			run = run[:0]
		}
		most := termWords
		if w.glued {
			most = termPairs
		}
		if len(run) >= most {
			run = run[:copy(run, run[len(run)-most+1:])]
		}
		run = append(run, gram{w.start, w.end, id})
		for n := 1; n <= len(run); n++ {
			t.add(text, run[len(run)-n:], covered, seq, unit.prior)
		}
	}
}

// adjacent reports whether nothing but one space or hyphen lies between two
// words, or the words are overlapping pairs of characters.
func adjacent(text string, end, start int) bool {
	return start <= end || start == end+1 && (text[end] == ' ' || text[end] == '-')
}

func (t *termTable) add(text string, run []gram, covered []uint8, seq, prior int64) {
	key, open := uint64(fnvOffset), false
	for _, g := range run {
		key = hashPair(key, uint64(g.id))
		open = open || covered[g.id] == 0
	}
	if !open {
		return
	}
	i, ok := t.index[key]
	if !ok {
		i = len(t.terms)
		t.index[key] = i
		e := term{text: text[run[0].start:run[len(run)-1].end], n: len(run), from: seq, to: seq}
		for j, g := range run {
			e.stems[j] = g.id
		}
		t.terms = append(t.terms, e)
	}
	e := &t.terms[i]
	e.tf++
	e.from, e.to = min(e.from, seq), max(e.to, seq)
	e.prior = max(e.prior, prior)
}

// Bounds on the footer: how many terms it lists, and how many that do not fit
// are passed over for a shorter one.
const (
	footerTerms = 24
	footerSkips = 12
)

// renderFooter lists terms, each with the messages it occurs in, within
// budget tokens; with none to list it names the whole range.
func renderFooter(m *material, terms []term, budget int, count func(string) int) string {
	named := map[int32]bool{}
	line := Footer
	for i, listed, skipped := 0, 0, 0; i < len(terms) && listed < footerTerms && skipped < footerSkips; i++ {
		e := &terms[i]
		if slices.ContainsFunc(e.stems[:e.n], func(id int32) bool { return named[id] }) {
			continue // it shares a word with a listed one
		}
		item := e.label()
		if listed > 0 {
			item = ", " + item
		}
		if count(line+item) > budget {
			skipped++
			continue
		}
		for _, id := range e.stems[:e.n] {
			named[id] = true
		}
		line += item
		listed++
	}
	if line != Footer {
		return line
	}
	whole := Footer + "the exact wording of " + m.seqs()
	if count(whole) <= budget {
		return whole
	}
	return Footer + m.seqs()
}

// label is a term as the footer shows it.
func (e *term) label() string {
	if e.from == 0 {
		return e.text
	}
	return e.text + " (" + seqRange(e.from, e.to) + ")"
}

// text is unit u, verbatim.
func (m *material) text(u int) string {
	unit := &m.units[u]
	return m.docs[unit.doc].text[unit.start:unit.end]
}

// seqs is the range of messages that the material covers, as far as it is
// known: a model's summary names none.
func (m *material) seqs() string {
	from, to := int64(0), int64(0)
	for i := range m.docs {
		if seq := m.docs[i].seq; seq > 0 {
			if from == 0 {
				from = seq
			}
			from, to = min(from, seq), max(to, seq)
		}
	}
	if from == 0 {
		return "these messages"
	}
	return seqRange(from, to)
}

// counter is the counter of a request, or the default.
func counter(r Request) llms.Counter {
	if r.Counter == nil {
		return llms.Estimate
	}
	return r.Counter
}
