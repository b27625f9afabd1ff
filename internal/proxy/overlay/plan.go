package overlay

import (
	"errors"
	"slices"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Cover is a summary and its sources.
type Cover struct {
	ID store.SummaryID
	// Text is the summary as the model sees it. It is empty if the summary cannot be
	// shown, because its text was erased or is damaged.
	Text     string
	Revision int // of the text
	// Messages and Summaries are its direct sources.
	Messages  []store.MessageID
	Summaries []*Cover
}

// All yields the cover and every summary beneath it.
func (c *Cover) All(yield func(*Cover) bool) {
	if !yield(c) {
		return
	}
	for _, below := range c.Summaries {
		for one := range below.All {
			if !yield(one) {
				return
			}
		}
	}
}

// Count returns the number of messages beneath the cover.
func (c *Cover) Count() (n int) {
	for one := range c.All {
		n += len(one.Messages)
	}
	return n
}

// Plan is a list of summaries, in the order of the conversation. Where a request does
// not allow a summary, the summaries beneath it take its place.
type Plan struct {
	Covers []*Cover
	// nodes are the covers and all summaries beneath them, each before those
	// beneath it.
	nodes    []node
	messages []int32 // the messages beneath the nodes, by their numbers in the index
	owner    []int32 // of each message in the index, the node of its cover, else none
}

// node is a summary of a plan.
type node struct {
	cover    *Cover
	end      int32 // the node after the last one beneath it
	from, to int32 // the range in Plan.messages of the messages beneath it
	unknown  bool  // the index does not have all messages beneath it
}

// NewPlan returns a plan of covers whose messages are in the index.
func NewPlan(ix *Index, covers []*Cover) *Plan {
	p := &Plan{Covers: covers, owner: make([]int32, len(ix.ids))}
	for i := range p.owner {
		p.owner[i] = none
	}
	for _, c := range covers {
		at := int32(len(p.nodes))
		p.add(ix, c)
		p.own(p.owner, at, at)
	}
	return p
}

// add adds a node for a cover and those beneath it, and reports whether the index has
// all of its messages.
func (p *Plan) add(ix *Index, c *Cover) (known bool) {
	at := len(p.nodes)
	p.nodes = append(p.nodes, node{cover: c, from: int32(len(p.messages))})
	known = true
	for _, id := range c.Messages {
		n, ok := ix.byID[id]
		if ok {
			p.messages = append(p.messages, n)
		}
		known = known && ok
	}
	for _, below := range c.Summaries {
		known = p.add(ix, below) && known
	}
	n := &p.nodes[at]
	n.end, n.to, n.unknown = int32(len(p.nodes)), int32(len(p.messages)), !known
	return known
}

// own makes a node the owner of the messages beneath node k.
func (p *Plan) own(owner []int32, k, by int32) {
	for _, n := range p.beneath(k) {
		owner[n] = by
	}
}

// beneath returns the messages beneath node k.
func (p *Plan) beneath(k int32) []int32 { return p.messages[p.nodes[k].from:p.nodes[k].to] }

// none stands for no node, and for no message.
const none = int32(-1)

// Options are the inputs of Lay beside the request.
type Options struct {
	// Checkpoint is the last message behind the checkpoint of the request, or 0. The
	// messages up to it need not be in the request.
	Checkpoint store.MessageID
	// Cut is set where the host may leave out the beginning of the history. What it has left
	// out stands before the first message: as summaries and, of messages that have none, as the
	// texts that Cut returns; "" is none.
	Cut func(store.MessageID) string
	// Intro is said before the first summary.
	Intro string
	// MaxReminders bounds the reminders that are said again, in bytes. The oldest
	// are left out. 0 is no bound.
	MaxReminders int
	// MaxStay bounds the messages that stay beside their summary, in units. A larger one
	// stays only until there is a newer prompt. 0 is no bound.
	MaxStay int
}

// GivesWay reports whether message i is too large to stay beside its summary.
func (o Options) GivesWay(r *apiform.Request, i int) bool {
	if o.MaxStay <= 0 || r.Messages[i].Units <= o.MaxStay {
		return false
	}
	return slices.ContainsFunc(r.Messages[i+1:], func(m apiform.Message) bool { return m.Prompt() })
}

// Laid is the result of Lay.
type Laid struct {
	Edits []apiform.Edit
	// Used are the summaries that are shown.
	Used []*Cover
	// Dropped counts the messages that gave way, Removed their units, and Added
	// the units of the messages in their place.
	Dropped int
	Removed int
	Added   int
	// Cut says that the host has cut off messages, and Lost counts those that nothing stands for.
	Cut  bool
	Lost int
}

// errTwice says that a request has two calls or two results of one id.
var errTwice = errors.New("the request has a tool call or result twice")

// errOrder says that the request has the messages in another order than the record.
var errOrder = errors.New("the request and the record are in different orders")

// Lay decides which messages of a request the plan's summaries replace.
func (p *Plan) Lay(r *apiform.Request, ix *Index, o Options) (Laid, error) {
	if p == nil || len(p.Covers) == 0 {
		if o.Cut == nil {
			return Laid{}, nil
		}
		p = NewPlan(ix, nil)
	}
	l := &layer{plan: p, req: r, ix: ix, o: o}
	if err := l.pair(); err != nil {
		return Laid{}, err
	}
	l.link()
	l.cut()
	l.quotes()
	l.decide()
	return l.edits()
}
