package summary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// ErrIncompressible says that the sources are so short that no summary is
// shorter than they are. They are best left as they stand.
var ErrIncompressible = errors.New("summary: the sources are too short to be summarised")

// MethodExtractive is the method that Extractive stores with its results.
const MethodExtractive = "extractive"

// Extractive summarises without a model: it chooses the sentences that cover most of
// the topics of the sources and copies them word for word. Where the messages repeat
// themselves, the first sentence is one that most of them support, so that one odd
// message never stands for all.
//
// Its output has four parts: the chosen sentences, one a line, each with the role and
// the number of its message; a list of the identifiers that stand in no chosen
// sentence; a note of the messages from which instruction-like text was left out; and
// the footer, which names the omitted topics. [Parse] reads it back.
//
// An Extractive holds no state and is safe for concurrent use.
type Extractive struct{}

// The shares of a target for the list of identifiers of a leaf and for the footer.
// Sentences get the tokens that these do not use.
const (
	listShare   = 0.25
	footerShare = 0.10
)

// NewExtractive returns an extractive summariser.
func NewExtractive() *Extractive { return &Extractive{} }

var _ Summariser = (*Extractive)(nil)

// Summarise chooses sentences of r.Sources that cost at most r.Target tokens
// together with identifiers and footer, and always less than the sources. A target
// too small for any sentence gets a line that names the messages it stands for.
// r.Previous is not used: a summary quotes nothing but its sources.
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
	text, err := d.write(ctx, divide(budget, r.Depth))
	if err != nil {
		return Result{}, fmt.Errorf("summarising %d sources: %w", len(r.Sources), err)
	}
	if c.Count(text) >= total {
		return Result{}, fmt.Errorf("%w: %d tokens", ErrIncompressible, total)
	}
	return Result{Text: text, Method: MethodExtractive}, nil
}

// shares is a budget in tokens, divided. Sentences get the rest, and all that the
// other parts do not use.
type shares struct {
	total, said, seen, footer int
}

// divide gives identifiers more of a deeper summary. Each condensation divides
// the room for sentences by its fan-out, and a lone sentence out of hundreds
// says little, while an identifier still leads to its message. Those of tool
// output fade first.
func divide(budget, depth int) shares {
	deep := float64(max(depth, 0))
	part := func(share float64) int { return int(share * float64(budget)) }
	return shares{
		total:  budget,
		said:   part(min(listShare+0.25*deep, 0.75)),
		seen:   part(listShare / 2 / (1 + deep)),
		footer: min(max(minFooter, part(footerShare)), maxFooter),
	}
}

// draft is a summary in the making.
type draft struct {
	m          *material
	f          *features
	said, seen []entry // identifiers, best first
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

// analyse takes sources apart into units, their features and the identifiers. It
// asks between messages whether to stop.
func analyse(sources []Source, c llms.Counter, stopped func() error) (*material, *features, *inventory, error) {
	m := take(sources)
	size := 0
	for i := range m.docs {
		size += len(m.docs[i].text)
	}
	f := newFeatures(size / 12)
	l := &inventory{index: map[string]int{}}
	for d := range m.docs {
		if err := stopped(); err != nil {
			return nil, nil, nil, err
		}
		m.describe(d, f, l, c)
	}
	for _, item := range m.listed {
		l.inherit(item)
	}
	f.weigh(len(m.units))
	return m, f, l, nil
}

// describe splits doc d, counts the features of its units and lists its identifiers.
func (m *material) describe(d int, f *features, l *inventory, c llms.Counter) {
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

// enter puts the identifiers of a doc into the inventory, except those of
// instruction-like sentences.
func (m *material) enter(ids []Identifier, doc *doc, l *inventory, blocks, flagged []span) {
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

// write fills the budget: first sentences, in the room that identifiers and footer
// leave, then identifiers, then the footer. Tokens that are left go to sentences again.
func (d *draft) write(ctx context.Context, s shares) (string, error) {
	room := s.total - s.footer - d.count(d.list(identifiersHead, d.said, "", s.said))
	room -= d.sel.lead(s.total-s.footer, d.price) // it may displace identifiers
	var text string
	for range 4 {
		if err := d.sel.fill(ctx, room, d.price); err != nil {
			return "", err
		}
		var body string
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
		return renderFooter(d.m, nil, s.total, d.count), nil
	}
	return text, nil
}

// price is the cost of unit u as a line of its own.
func (d *draft) price(u int) int {
	doc := &d.m.docs[d.m.units[u].doc]
	return d.count(speaker(doc.label(), doc.seq) + d.m.text(u) + "\n")
}

// compose renders the chosen sentences with as many identifiers and footer terms as
// fit: without the footer, and the whole.
func (d *draft) compose(s shares) (string, string) {
	body := d.lines() + d.omissions()
	terms := droppedTerms(d.m, d.f, d.sel.covered, func(u int) bool { return d.sel.chosen[u] })
	footer := renderFooter(d.m, terms, min(s.total-d.count(body), s.footer), d.count)
	left := func() int { return s.total - d.count(body) - d.count(footer) }
	body += d.list(identifiersHead, d.said, body, left())
	body += d.list(toolIdentifiersHead, d.seen, body, min(left(), s.seen))
	return body, body + footer
}

// list renders the entries that body lacks, within budget. An entry costs at least a
// token, which bounds how many are considered.
func (d *draft) list(head string, entries []entry, body string, budget int) string {
	if budget <= 0 {
		return ""
	}
	return newListing(head, missing(entries, body, budget)).fit(budget, d.count)
}

// lines renders the chosen units in source order. Units that stand side by
// side on one line of a message stay together.
func (d *draft) lines() string {
	units := slices.Sorted(slices.Values(d.sel.taken))
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
		b.WriteString(speaker(doc.label(), doc.seq) + doc.text[first.start:end] + "\n")
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
	refs := slices.Clone(d.m.omitted)
	for _, s := range d.m.flagged {
		seq := d.m.docs[s.doc].seq
		refs = append(refs, seqRange(seq, seq))
	}
	if len(refs) == 0 {
		return ""
	}
	refs = slices.Compact(refs)
	return omittedHead + strings.Join(refs[:min(len(refs), 8)], ", ") + omittedTail + "\n"
}
