package overlay

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/store"
)

// Cover is a summary and the messages beneath it.
type Cover struct {
	ID       store.SummaryID
	Text     string // as the model sees it
	Messages []store.MessageID
}

// Plan is a list of summaries, in the order of the conversation.
type Plan struct {
	Covers []Cover
	owner  []int32   // the cover of a message, by its number in the index, else -1
	needs  [][]int32 // of each cover, the numbers of the messages that have to be in a request
	broken []bool    // the cover has a message that the index does not know
}

// NewPlan returns a plan of covers whose messages are in the index.
func NewPlan(ix *Index, covers []Cover) *Plan {
	p := &Plan{Covers: covers, owner: make([]int32, len(ix.ids)), broken: make([]bool, len(covers)), needs: make([][]int32, len(covers))}
	for i := range p.owner {
		p.owner[i] = none
	}
	for c, cover := range covers {
		for _, id := range cover.Messages {
			n, ok := ix.byID[id]
			if !ok {
				p.broken[c] = true
				continue
			}
			p.owner[n] = int32(c)
			if ix.kinds[n] == present {
				p.needs[c] = append(p.needs[c], n)
			}
		}
	}
	return p
}

// none stands for no cover, and for no message.
const none = int32(-1)

func (p *Plan) of(n int32) int32 {
	if int(n) >= len(p.owner) {
		return none
	}
	return p.owner[n]
}

// Options are the inputs of Lay beside the request.
type Options struct {
	// Checkpoint is the last message behind the checkpoint of the request, or 0. The
	// messages up to it need not be in the request.
	Checkpoint store.MessageID
	// Intro is said before the first summary.
	Intro string
	// MaxReminders bounds the reminders that are said again, in bytes. The oldest
	// are left out. 0 is no bound.
	MaxReminders int
}

// Laid is the result of Lay.
type Laid struct {
	Edits []apiform.Edit
	// Used are the covers that are shown.
	Used []int
	// Dropped counts the messages that gave way, Removed their units, and Added
	// the units of the messages in their place.
	Dropped int
	Removed int
	Added   int
}

// errTwice says that a request has two calls or two results of one id.
var errTwice = errors.New("the request has a tool call or result twice")

// errOrder says that the request has the messages in another order than the record.
var errOrder = errors.New("the request and the record are in different orders")

// Lay decides which messages of a request the plan's summaries replace.
func (p *Plan) Lay(r *apiform.Request, ix *Index, o Options) (Laid, error) {
	if p == nil || len(p.Covers) == 0 {
		return Laid{}, nil
	}
	l := &layer{plan: p, req: r, ix: ix, o: o}
	if err := l.pair(); err != nil {
		return Laid{}, err
	}
	l.link()
	l.quotes()
	l.decide()
	return l.edits()
}

// layer is one call of Lay.
type layer struct {
	plan *Plan
	req  *apiform.Request
	ix   *Index
	o    Options

	calls, results map[apiform.Key]int32 // the message of each call and result
	links          [][]int32             // of each message, the stored messages in it
	carried        [][]apiform.Text      // of each message, the texts that the record lacks
	partial        []bool                // the message has something that the record lacks
	place          []int32               // of each stored message, a message that it is in
	usable         []bool                // of each cover
	drop           []bool                // of each message
	stays          []bool                // of each message: it stays beside a summary that covers it
}

// pair finds the message of each call and result.
func (l *layer) pair() error {
	n := len(l.req.Messages)
	l.calls, l.results = make(map[apiform.Key]int32, n/2), make(map[apiform.Key]int32, n/2)
	for i := range l.req.Messages {
		m := &l.req.Messages[i]
		for _, k := range m.Calls {
			if _, twice := l.calls[k]; twice {
				return errTwice
			}
			l.calls[k] = int32(i)
		}
		for _, k := range m.Results {
			if _, twice := l.results[k]; twice {
				return errTwice
			}
			l.results[k] = int32(i)
		}
	}
	return nil
}

// link finds the stored messages of each message: by the ids of calls and results,
// then by texts between them.
func (l *layer) link() {
	ms := l.req.Messages
	l.links, l.carried, l.partial = make([][]int32, len(ms)), make([][]apiform.Text, len(ms)), make([]bool, len(ms))
	room := make([]int32, 0, len(ms)*2) // of the links, to allocate once
	l.place = make([]int32, len(l.ix.ids))
	for i := range l.place {
		l.place[i] = none
	}
	for i := range ms {
		from := len(room)
		for _, k := range ms[i].Calls {
			room = l.linkTo(i, room, l.ix.calls, k)
		}
		for _, k := range ms[i].Results {
			room = l.linkTo(i, room, l.ix.results, k)
		}
		l.links[i] = room[from:len(room):len(room)]
	}
	// ends[i] is the first stored message that a later message has by its ids.
	ends := make([]int32, len(ms))
	end := int32(math.MaxInt32)
	for i := len(ms) - 1; i >= 0; i-- {
		ends[i] = end
		for _, n := range l.links[i] {
			end = min(end, n)
		}
	}
	last := none
	for i := range ms {
		l.linkTexts(i, last, ends[i])
		for _, n := range l.links[i] {
			last = max(last, n)
		}
	}
}

func (l *layer) linkTo(i int, room []int32, in map[apiform.Key]int32, k apiform.Key) []int32 {
	n, ok := in[k]
	if !ok {
		l.partial[i] = true
		return room
	}
	l.place[n] = int32(i)
	return append(room, n)
}

// linkTexts finds the texts of message i among the stored messages after last and
// before end.
func (l *layer) linkTexts(i int, last, end int32) {
	m := &l.req.Messages[i]
	for _, t := range m.Texts {
		if m.Role == apiform.System {
			return
		}
		n, ok := l.ix.textBetween(t.Key, last, end)
		switch {
		case ok:
			l.links[i] = append(l.links[i], n)
			l.place[n] = int32(i)
			last = n
		case m.Role == apiform.Assistant:
			l.partial[i] = true
		default:
			l.carried[i] = append(l.carried[i], t)
		}
	}
}

// maxQuotes bounds how many stored texts are searched for in a request.
const maxQuotes = 64

// quotes finds prompts that the host has wrapped in a text of its own. The text is said
// again, so nothing depends on it.
func (l *layer) quotes() {
	left := maxQuotes
	for c := range l.plan.Covers {
		for _, n := range l.plan.needs[c] {
			if l.place[n] != none || l.ix.ids[n] <= l.o.Checkpoint {
				continue
			}
			if left--; left < 0 {
				return
			}
			l.quote(n)
		}
	}
}

func (l *layer) quote(n int32) {
	text, ok := l.ix.quoted[n]
	if !ok {
		return
	}
	from, to := 0, len(l.req.Messages)-1
	for k := n - 1; k >= 0; k-- {
		if l.place[k] != none {
			from = int(l.place[k])
			break
		}
	}
	for k := int(n) + 1; k < len(l.place); k++ {
		if l.place[k] != none {
			to = int(l.place[k])
			break
		}
	}
	for i := from; i <= to && i < len(l.req.Messages); i++ {
		for _, t := range l.carried[i] {
			if strings.Contains(l.req.TextOf(i, t), text) {
				l.links[i] = append(slices.Clip(l.links[i]), n)
				l.place[n] = int32(i)
				return
			}
		}
	}
}

// decide finds the largest set of covers and messages for which the promises of the
// package hold: it begins with everything and takes away what breaks one, until
// nothing does.
func (l *layer) decide() {
	l.usable = make([]bool, len(l.plan.Covers))
	for c := range l.plan.Covers {
		l.usable[c] = !l.plan.broken[c] && l.complete(c)
	}
	l.drop = make([]bool, len(l.req.Messages))
	for i := range l.drop {
		l.drop[i] = l.droppable(i)
	}
	l.protect()
	for l.settle() {
	}
}

// complete reports whether every message beneath a cover is in the request, where it
// has to be.
func (l *layer) complete(c int) bool {
	for _, n := range l.plan.needs[c] {
		if l.place[n] == none && l.ix.ids[n] > l.o.Checkpoint {
			return false
		}
	}
	return true
}

// droppable reports whether a message is covered.
func (l *layer) droppable(i int) bool {
	m := &l.req.Messages[i]
	if m.Role == apiform.System || m.Opaque || l.partial[i] || len(l.links[i]) == 0 {
		return false
	}
	return l.covered(i) == inFull
}

// How much of a message the plan covers.
const (
	inFull = iota
	inPart
	notAtAll
)

func (l *layer) covered(i int) int {
	covered := 0
	for _, n := range l.links[i] {
		if l.plan.of(n) != none {
			covered++
		}
	}
	switch covered {
	case 0:
		return notAtAll
	case len(l.links[i]):
		return inFull
	}
	return inPart
}

// protect keeps the messages that always stay: those before the first answer, the last
// prompt that the plan covers, and the last message. If the plan covers the newest
// prompt, that is the one. Otherwise nothing covers the newest prompt, and it stays too.
// A message that the plan covers in part, where it ends, stays as well.
func (l *layer) protect() {
	ms := l.req.Messages
	l.stays = make([]bool, len(ms))
	for i := 0; i < len(ms) && ms[i].Role != apiform.Assistant; i++ {
		l.stay(i)
	}
	prompt := false
	for i := len(ms) - 1; i >= 0; i-- {
		if first := !prompt && l.drop[i] && ms[i].Prompt(); first || l.covered(i) == inPart {
			prompt = prompt || first
			l.stay(i)
			for _, k := range ms[i].Results {
				if j, ok := l.calls[k]; ok {
					l.stay(int(j))
				}
			}
		}
	}
	l.drop[len(ms)-1] = false
}

// stay keeps a message beside the summary that covers it.
func (l *layer) stay(i int) { l.stays[i], l.drop[i] = true, false }

// settle takes away covers and messages that break a promise, and reports whether
// there were any. Messages that stay beside their summary break none.
func (l *layer) settle() (changed bool) {
	for i := range l.drop {
		if l.drop[i] || l.stays[i] {
			continue
		}
		for _, n := range l.links[i] {
			if c := l.plan.of(n); c != none && l.usable[c] {
				l.usable[c], changed = false, true
			}
		}
	}
	for i := range l.drop {
		if l.drop[i] && !l.holds(i) {
			l.drop[i], changed = false, true
		}
	}
	return changed
}

// holds reports whether a message may be dropped, given the others.
func (l *layer) holds(i int) bool {
	for _, n := range l.links[i] {
		if !l.usable[l.plan.of(n)] {
			return false
		}
	}
	m := &l.req.Messages[i]
	for _, k := range m.Calls {
		if j, ok := l.results[k]; !ok || !l.drop[j] {
			return false
		}
	}
	for _, k := range m.Results {
		if j, ok := l.calls[k]; !ok || !l.drop[j] {
			return false
		}
	}
	return true
}
