package summary

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// ErrIncompressible says that the sources are so short that no summary is
// shorter than they are. They are best left as they stand.
var ErrIncompressible = errors.New("summary: the sources are too short to be summarised")

// MethodExtractive is the method that Extractive stores with its results.
const MethodExtractive = "extractive"

// Extractive summarises without a model, by choosing the sentences that cover
// the most of what the sources are about and copying them word for word.
//
// Where the messages repeat themselves, the first sentence chosen is the one
// that most of them support, so that one odd message never stands for all.
//
// Its output has four parts: the chosen sentences, one a line, each with the
// role and the number of the message it stands in; a ledger of identifiers
// that stand in no chosen sentence; a note of the messages from which
// instruction-like text was left out; and the footer, which names what was
// dropped. [Parse] reads it back.
//
// An Extractive holds no state and is safe for concurrent use.
type Extractive struct {
	ledger float64
	footer float64
}

// Option adjusts an Extractive.
type Option func(*Extractive)

// WithLedgerShare sets the share of the target kept for the identifier ledger
// of a leaf. What it does not use goes to sentences.
func WithLedgerShare(share float64) Option {
	return func(e *Extractive) { e.ledger = min(max(share, 0), 0.9) }
}

// WithFooterShare sets the share of the target that the footer may use.
func WithFooterShare(share float64) Option {
	return func(e *Extractive) { e.footer = min(max(share, 0), 0.5) }
}

// NewExtractive returns an extractive summariser.
func NewExtractive(options ...Option) *Extractive {
	e := &Extractive{ledger: 0.25, footer: 0.10}
	for _, o := range options {
		o(e)
	}
	return e
}

var _ Summariser = (*Extractive)(nil)

// Summarise chooses sentences of r.Sources that cost at most r.Target tokens
// together with ledger and footer, and always less than the sources. A target
// too small for any sentence gets a line that only says which messages it
// stands for. r.Previous is not used: nothing may be emitted that the sources
// do not say.
func (e *Extractive) Summarise(ctx context.Context, r Request) (Result, error) {
	if len(r.Sources) == 0 {
		return Result{}, fmt.Errorf("%w: there are none", ErrIncompressible)
	}
	c := counter(r)
	total := 0
	for _, s := range r.Sources {
		total += c.Count(s.Text)
	}
	d, err := newDraft(ctx, r, c)
	if err != nil {
		return Result{}, fmt.Errorf("summarising %d sources: %w", len(r.Sources), err)
	}
	budget := min(r.Target, total-1)
	text, err := d.write(ctx, e.divide(budget, r.Depth))
	if err != nil {
		return Result{}, fmt.Errorf("summarising %d sources: %w", len(r.Sources), err)
	}
	if c.Count(text) >= total {
		return Result{}, fmt.Errorf("%w: %d tokens", ErrIncompressible, total)
	}
	return Result{Text: text, Method: MethodExtractive}, nil
}

// shares is a budget divided, in tokens. Sentences get what the others leave,
// and what the others do not use.
type shares struct {
	total, said, seen, footer int
}

// divide gives the ledger more of a deeper summary. Each condensation divides
// the room for sentences by its fan-out, and a lone sentence out of hundreds
// says little, while an identifier still leads to the message it is in.
func (e *Extractive) divide(budget, depth int) shares {
	part := func(share float64) int { return int(share * float64(budget)) }
	// Tool output fades first.
	return shares{
		total:  budget,
		said:   part(min(e.ledger+0.25*float64(max(depth, 0)), max(e.ledger, 0.75))),
		seen:   part(e.ledger / 2 / float64(1+max(depth, 0))),
		footer: min(max(minFooter, part(e.footer)), maxFooter),
	}
}

// draft is a summary in the making.
type draft struct {
	m          *material
	f          *features
	said, seen []entry // the ledger, best first
	sel        *selection
	count      func(string) int
}

func newDraft(ctx context.Context, r Request, c llms.Counter) (*draft, error) {
	m, f, l, err := analyse(r.Sources, c, ctx.Err)
	if err != nil {
		return nil, err
	}
	said, seen := l.ranked()
	return &draft{m: m, f: f, said: said, seen: seen, sel: newSelection(m, f), count: c.Count}, nil
}

// analyse takes sources apart: their units, what those are about, and the
// identifiers in them. It asks between messages whether to stop.
func analyse(sources []Source, c llms.Counter, stopped func() error) (*material, *features, *ledger, error) {
	m := take(sources)
	size := 0
	for i := range m.docs {
		size += len(m.docs[i].text)
	}
	f := newFeatures(size / 12)
	l := &ledger{index: map[string]int{}}
	for d := range m.docs {
		if err := stopped(); err != nil {
			return nil, nil, nil, err
		}
		m.describe(d, f, l, c)
	}
	for _, item := range m.ledgers {
		l.inherit(item)
	}
	f.weigh(len(m.units))
	return m, f, l, nil
}

// describe splits doc d, counts what its units are about and lists its
// identifiers.
func (m *material) describe(d int, f *features, l *ledger, c llms.Counter) {
	doc := &m.docs[d]
	if doc.text == "" {
		return
	}
	doc.rate = float64(c.Count(doc.text)) / float64(len(doc.text))
	units, blocks, flagged := len(m.units), len(m.blocks), len(m.flagged)
	m.split(d)
	ids := Identifiers(doc.text)
	next := 0
	for u := units; u < len(m.units); u++ {
		unit := &m.units[u]
		unit.lo = len(f.arena)
		f.describe(u, doc.text[unit.start:unit.end])
		for next < len(ids) && ids[next].At < unit.start {
			next++
		}
		for ; next < len(ids) && ids[next].At+len(ids[next].Text) <= unit.end; next++ {
			f.add(u, identFeature, hashString(ids[next].Text))
		}
		unit.hi = len(f.arena)
	}
	m.enter(ids, doc, l, m.blocks[blocks:], m.flagged[flagged:])
}

// enter puts the identifiers of a doc into the ledger, but for those of
// instruction-like sentences.
func (m *material) enter(ids []Identifier, doc *doc, l *ledger, blocks, flagged []span) {
	said := speakerOrigin(doc.role)
	if doc.tool {
		said = fromTool
	}
	for _, id := range ids {
		if within(&flagged, id.At) {
			continue
		}
		from := said
		if within(&blocks, id.At) {
			from = max(from, fromCode)
		}
		l.add(id.Text, id.Class, from)
	}
}

// within reports whether offset at lies in one of spans, which are in order,
// and forgets those that lie before it.
func within(spans *[]span, at int) bool {
	for len(*spans) > 0 && (*spans)[0].end <= at {
		*spans = (*spans)[1:]
	}
	return len(*spans) > 0 && (*spans)[0].start <= at
}

// write fills the budget: sentences first, within what the ledger needs and
// the footer leave them, then the ledger, then the footer; what is left over
// goes to sentences again.
func (d *draft) write(ctx context.Context, s shares) (string, error) {
	room := s.total - s.footer - d.count(d.list(ledgerHead, d.said, "", s.said))
	room -= d.sel.lead(s.total-s.footer, d.price) // it may displace identifiers
	var text string
	for range 4 {
		if _, err := d.sel.fill(ctx, room, d.price); err != nil {
			return "", err
		}
		body := ""
		body, text = d.compose(s)
		// The next footer may be as long as its share: it must not push
		// identifiers out to make room for one more sentence.
		room = s.total - s.footer - d.count(body)
		if room < minFooter/2 {
			break
		}
	}
	for d.count(text) > s.total && len(d.sel.taken) > 0 {
		d.sel.drop()
		_, text = d.compose(s)
	}
	if d.count(text) > s.total {
		return d.stub(s.total), nil
	}
	return text, nil
}

// price is the cost of unit u as a line of its own.
func (d *draft) price(u int) int {
	doc := &d.m.docs[d.m.units[u].doc]
	return d.count(speaker(doc.label(), doc.seq) + d.m.text(u) + "\n")
}

// compose renders what is chosen so far, with as much of the ledger and the
// footer as fit beside it: all but the footer, and the whole.
func (d *draft) compose(s shares) (string, string) {
	body := d.lines() + d.omissions()
	terms := droppedTerms(d.m, d.f, d.sel.covered, func(u int) bool { return d.sel.chosen[u] })
	footer := renderFooter(d.m, terms, min(s.total-d.count(body), s.footer), d.count)
	left := func() int { return s.total - d.count(body) - d.count(footer) }
	body += d.list(ledgerHead, d.said, body, left())
	body += d.list(toolLedgerHead, d.seen, body, min(left(), s.seen))
	return body, body + footer
}

// list renders the entries that body lacks, as far as budget goes. No entry
// costs less than a token, which bounds how many are worth a look.
func (d *draft) list(head string, entries []entry, body string, budget int) string {
	if budget <= 0 {
		return ""
	}
	return newListing(head, missing(entries, body, budget)).fit(budget, d.count)
}

// lines renders the chosen units in source order. Units that stand side by
// side on one line of a message stay together.
func (d *draft) lines() string {
	units := append([]int(nil), d.sel.taken...)
	sort.Ints(units)
	var b strings.Builder
	for i := 0; i < len(units); {
		first := &d.m.units[units[i]]
		doc := &d.m.docs[first.doc]
		end := first.end
		for i++; i < len(units); i++ {
			next := &d.m.units[units[i]]
			if next.doc != first.doc || strings.Trim(doc.text[end:next.start], " ") != "" {
				break
			}
			end = next.end
		}
		b.WriteString(speaker(doc.label(), doc.seq))
		b.WriteString(doc.text[first.start:end])
		b.WriteByte('\n')
	}
	return b.String()
}

// label is the role a doc's lines are shown with.
func (d *doc) label() llms.Role {
	if d.role.Valid() || d.role == RoleSummary {
		return d.role
	}
	return llms.RoleTool
}

// omissions names the messages whose instruction-like text was left out.
func (d *draft) omissions() string {
	refs := append([]string(nil), d.m.omitted...)
	for _, s := range d.m.flagged {
		seq := d.m.docs[s.doc].seq
		refs = append(refs, seqRange(seq, seq))
	}
	var shown []string
	for _, ref := range refs {
		if len(shown) < 8 && (len(shown) == 0 || shown[len(shown)-1] != ref) {
			shown = append(shown, ref)
		}
	}
	if len(shown) == 0 {
		return ""
	}
	return omittedHead + strings.Join(shown, ", ") + omittedTail + "\n"
}

// stub is the least a summary can say: which messages it stands for.
func (d *draft) stub(budget int) string {
	line := Footer + "the exact wording of " + d.m.seqs()
	if d.count(line) <= budget {
		return line
	}
	return Footer + d.m.seqs()
}
