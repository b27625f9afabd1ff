package assemble

import (
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// notice tells a model that older messages are missing from its context. It is
// a user message, because providers want one first.
const notice = "[Earlier parts of this conversation are not shown here, for want of room. lcm_grep finds them and lcm_describe shows them.]"

// Input is everything that Build looks at.
type Input struct {
	View store.View
	// Messages and Summaries hold the content of the view's items and of its LastUserItem,
	// the summaries with their sources.
	Messages  map[store.MessageID]store.Message
	Summaries map[store.SummaryID]store.Summary
	// Payloads holds externalised content that may be put back in the tail;
	// Wanted lists it.
	Payloads map[store.PayloadID][]byte
	Budget   int
	Policy   Policy
	Counter  llms.Counter
	// Counted says that the tokens of the view's items come from Counter.
	// Then Build does not count unchanged messages again: with a real
	// tokenizer, counting a full window costs more than everything else.
	Counted bool
}

// Shown is an item of the view that the output shows, and its cost there.
type Shown struct {
	store.ID
	Tokens int
}

// Output has the messages to send to a model.
type Output struct {
	Messages []llms.Message
	Tokens   int // of Messages
	Items    []Shown
	// Dropped are the items that did not fit, oldest first. Items that the
	// view skipped are not among them.
	Dropped []store.ID
	// Repairs lists the changes that made the messages valid.
	Repairs []string
}

// BudgetError says that the newest user message and the newest round do not
// fit the budget together: nothing useful can be sent.
type BudgetError struct {
	Need   int
	Budget int
}

// Error names the tokens that are needed and a remedy.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("the newest user message and the newest round need %d tokens and the budget is %d; "+
		"raise the token budget, or lower the size from which content is externalised", e.Need, e.Budget)
}

// group is a run of the view that is shown as a whole or not at all: a message,
// a summary, or a tool call with everything up to its result.
type group struct {
	from, to int // of the items
	entries  []entry
	tokens   int
	summary  bool
	chosen   bool
}

// entry is a message to be sent and the item that it shows.
type entry struct {
	msg     llms.Message
	item    int  // its index among the items
	changed bool // it is not sent as it was recorded
	tokens  int
}

// Build chooses the items that fit the budget and makes valid messages of them.
func Build(in Input) (Output, error) {
	if in.Counter == nil {
		return Output{}, errors.New("assemble: no token counter was given")
	}
	v := withPinned(in.View)
	var tooSmall *BudgetError
	for _, reach := range Reaches() {
		b := builder{Input: in, view: v, cuts: CutsWithin(v, reach)}
		if err := b.render(); err != nil {
			return Output{}, err
		}
		var left int
		if left, tooSmall = b.choose(); tooSmall == nil {
			return b.output(b.rehydrate(left)), nil
		}
	}
	return Output{}, tooSmall
}

type builder struct {
	Input
	view    store.View // with the pinned item in its place
	cuts    []bool
	groups  []group
	pin     int  // the index of the pinned item, or -1
	partial bool // not all of the view is shown
	repairs []string
}

// withPinned returns the view with the newest user message at the gap, where it was
// skipped.
func withPinned(v store.View) store.View {
	pinned := v.LastUserItem
	if pinned == nil || !isUser(*pinned) || v.Skipped == 0 || Pinned(v) >= 0 {
		return v
	}
	items := make([]store.Item, 0, len(v.Items)+1)
	items = append(items, v.Items[:v.Gap]...)
	items = append(items, *pinned)
	v.Items = append(items, v.Items[v.Gap:]...)
	v.LastUser, v.LastUserItem = pinned.Pos, nil
	v.Skipped--
	v.Gap++ // the gap now begins after the pinned item
	return v
}

// render makes the messages of every group of the view.
func (b *builder) render() error {
	b.pin = Pinned(b.view)
	names := newNamer()
	b.groups = make([]group, 0, len(b.view.Items))
	entries := make([]entry, 0, len(b.view.Items)) // of all groups
	for from := 0; from < len(b.view.Items); {
		to := from + 1
		for !b.cuts[to] && (b.view.Skipped == 0 || to != b.view.Gap) {
			to++
		}
		g := group{from: from, to: to, summary: b.view.Items[from].IsSummary()}
		for i := from; i < to; i++ {
			m, err := b.message(b.view.Items[i])
			if err != nil {
				return err
			}
			entries = append(entries, entry{msg: m, item: i, changed: b.Messages[b.view.Items[i].Message].Damaged})
		}
		var notes []string
		g.entries, notes = repair(entries[from:to:to], names)
		b.repairs = append(b.repairs, notes...)
		for i := range g.entries {
			g.entries[i].tokens = b.count(g.entries[i])
			g.tokens += g.entries[i].tokens
		}
		b.groups = append(b.groups, g)
		from = to
	}
	return nil
}

func (b *builder) count(e entry) int {
	if b.Counted && !e.changed {
		return b.view.Items[e.item].Tokens
	}
	return llms.CountMessage(b.Counter, e.msg)
}

func (b *builder) message(it store.Item) (llms.Message, error) {
	if it.IsSummary() {
		s, found := b.Summaries[it.Summary]
		if !found {
			return llms.Message{}, fmt.Errorf("assemble: %s is in the view but was not supplied", it.ID)
		}
		return SummaryMessage(s, s.Sources), nil
	}
	m, found := b.Messages[it.Message]
	if !found {
		return llms.Message{}, fmt.Errorf("assemble: %s is in the view but was not supplied", it.ID)
	}
	if it.Stub {
		return RenderStub(m), nil
	}
	return m.Body, nil
}

// choose marks the groups that are shown and returns how much of the budget
// is left.
func (b *builder) choose() (left int, tooSmall *BudgetError) {
	total := 0
	for _, g := range b.groups {
		total += g.tokens
	}
	b.partial = b.view.Skipped > 0
	reserve := 0
	if total > b.Budget || b.partial {
		b.partial = true
		reserve = llms.CountMessage(b.Counter, llms.User(notice))
	}
	need := b.take(b.mustShow())
	if need > b.Budget {
		return 0, &BudgetError{Need: need, Budget: b.Budget}
	}
	left = b.Budget - need
	if reserve > left {
		reserve = 0
	}
	left -= reserve
	// Newest first. Once a message does not fit, older messages would leave
	// a hole in the conversation. A summary names the messages that it covers.
	full := false
	for i := len(b.groups) - 1; i >= 0; i-- {
		g := &b.groups[i]
		switch {
		case g.chosen:
		case g.tokens <= left && (g.summary || !full):
			g.chosen = true
			left -= g.tokens
		case !g.summary:
			full = true
		}
	}
	return left + reserve, nil
}

// mustShow tells the groups without which nothing useful can be sent: the
// newest round and the newest user message.
func (b *builder) mustShow() func(group) bool {
	room := b.Budget
	if b.pin >= 0 {
		room -= b.view.Items[b.pin].Tokens
	}
	round := newestRound(b.view, b.cuts, room)
	return func(g group) bool { return g.to > round || (b.pin >= g.from && b.pin < g.to) }
}

// take chooses the groups that match and returns their cost.
func (b *builder) take(match func(group) bool) int {
	tokens := 0
	for i := range b.groups {
		if g := &b.groups[i]; match(*g) {
			g.chosen = true
			tokens += g.tokens
		}
	}
	return tokens
}

func (b *builder) output(left int) Output {
	out := Output{Repairs: b.repairs, Messages: make([]llms.Message, 0, len(b.view.Items)+1)}
	if b.partial {
		m := llms.User(notice)
		if n := llms.CountMessage(b.Counter, m); n <= left {
			out.Messages = append(out.Messages, m)
			out.Tokens = n
		}
	}
	tokens := make([]int, len(b.view.Items)) // by item, -1 for those that are not shown
	for i := range tokens {
		tokens[i] = -1
	}
	out.Items = make([]Shown, 0, len(b.view.Items))
	for _, g := range b.groups {
		if !g.chosen {
			for _, it := range b.view.Items[g.from:g.to] {
				out.Dropped = append(out.Dropped, it.ID)
			}
			continue
		}
		for _, e := range g.entries {
			out.Messages = append(out.Messages, e.msg)
			out.Tokens += e.tokens
			tokens[e.item] = max(0, tokens[e.item]) + e.tokens
		}
		for i := g.from; i < g.to; i++ {
			if tokens[i] >= 0 {
				out.Items = append(out.Items, Shown{ID: b.view.Items[i].ID, Tokens: tokens[i]})
			}
		}
	}
	return out
}
