package lookup

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

const (
	// neighbourCost is about the cost of a neighbour's frame, without its text.
	neighbourCost = 12
	// Characters of what is shown beside a match: of the reply to a prompt that matched, of
	// another match or the reply, and of the prompt.
	replyRunes, besideRunes, promptRunes = 360, 220, 140
	// noRoomRunes is how many characters of another match are shown where no room is left.
	noRoomRunes = 80
	// leastOutput is the shortest output of a tool, in bytes, that is shown beside a match.
	leastOutput = 40
)

// result is a match with the other messages of its exchange that are shown.
type result struct {
	recall.Match
	msg    store.Message
	of     *exchange // nil for a summary
	beside []store.Message
}

// byExchange makes one result of the matches of an exchange: the best of them, and beside it
// the others, and the reply and the prompt as far as all cost no more than the tokens of
// the query. Better results come first. Some hosts copy the history of a session into the
// sessions forked from it, with its ids and times: such a copy is left out.
func (s *Service) byExchange(ctx context.Context, q *query, matches []recall.Match, messages map[store.MessageID]store.Message) ([]recall.Match, error) {
	read := exchanges{store: s.store}
	var results []*result
	of := map[*exchange]*result{}
	type origin struct {
		native, snippet string
		at              int64
	}
	said := map[origin]bool{}
	for _, m := range matches {
		r := &result{Match: m, msg: messages[m.ID.Message]}
		same := origin{r.msg.Native, m.Snippet, r.msg.Body.Time.UnixNano()}
		if same.native != "" && said[same] {
			continue
		}
		said[same] = true
		if m.ID.Message != 0 {
			var err error
			if r.of, err = read.of(ctx, r.msg); err != nil {
				return nil, err
			}
			if first := of[r.of]; first != nil {
				first.beside = append(first.beside, r.msg)
				continue
			}
			of[r.of] = r
		}
		results = append(results, r)
	}
	room := &room{Service: s, query: q, left: q.fill, shown: map[store.MessageID]bool{}}
	for _, r := range results {
		room.left -= s.counter.Count(r.Snippet) + neighbourCost
		room.shown[r.msg.ID] = true
	}
	for _, r := range results {
		if r.of != nil {
			room.fill(r)
		}
	}
	out := make([]recall.Match, len(results))
	for i, r := range results {
		out[i] = r.Match
	}
	return out, nil
}

// room is what is left of the tokens of a page.
type room struct {
	*Service
	query *query
	left  int
	shown map[store.MessageID]bool
}

// fill shows the other messages of an exchange that matter.
func (o *room) fill(r *result) {
	reply := r.of.reply()
	if reply != nil && isPrompt(r.msg) {
		o.show(r, *reply, replyRunes)
	}
	for _, m := range r.beside {
		if o.show(r, m, besideRunes); !o.shown[m.ID] {
			o.add(r, m, o.query.neighbour(m, noRoomRunes)) // the cursor has passed it
		}
	}
	if reply != nil {
		o.show(r, *reply, besideRunes)
	}
	for _, m := range r.of.outputs(r.msg) {
		o.show(r, m, besideRunes)
	}
	if first := r.of.messages[0]; isPrompt(first) {
		o.show(r, first, promptRunes)
	}
}

// show shows a message beside a match if there is room.
func (o *room) show(r *result, m store.Message, runes int) {
	if o.left < neighbourCost || o.shown[m.ID] || slices.Contains(o.query.search.Except, m.ID) {
		return // before its text is looked through, which takes long
	}
	n := o.query.neighbour(m, runes)
	cost := o.counter.Count(n.Snippet) + neighbourCost
	if cost > o.left || blank(n.Snippet) || m.Body.Role == llms.RoleTool && len(n.Snippet) < leastOutput {
		return
	}
	o.add(r, m, n)
}

// add puts a message beside a match.
func (o *room) add(r *result, m store.Message, n recall.Neighbour) {
	o.left -= o.counter.Count(n.Snippet) + neighbourCost
	o.shown[m.ID] = true
	if r.Context == nil {
		r.Context = &recall.Context{Before: []recall.Neighbour{}, After: []recall.Neighbour{}}
	}
	list := &r.Context.Before
	if m.Seq > r.msg.Seq {
		list = &r.Context.After
	}
	*list = append(*list, n)
	slices.SortFunc(*list, func(a, b recall.Neighbour) int { return cmp.Compare(a.ID, b.ID) })
}

// outputs returns the messages with the results of a message's calls.
func (e *exchange) outputs(of store.Message) (out []store.Message) {
	for _, m := range e.messages {
		if slices.ContainsFunc(m.Body.ToolResults(), func(r llms.ToolResult) bool {
			return m.ID != of.ID && slices.ContainsFunc(of.Body.ToolCalls(), func(c llms.ToolCall) bool { return c.ID == r.CallID })
		}) {
			out = append(out, m)
		}
	}
	return out
}

// reply returns the last words of the agent in an exchange, or nil.
func (e *exchange) reply() *store.Message {
	for i := range slices.Backward(e.messages) {
		if m := &e.messages[i]; m.Body.Role == llms.RoleAssistant && m.Flags.Said() && !blank(m.Body.PlainText()) {
			return m
		}
	}
	return nil
}

// neighbour is a message beside a match with the part of it that is most about the question.
func (q *query) neighbour(m store.Message, runes int) recall.Neighbour {
	n := recall.Neighbour{ID: m.ID, Role: m.Body.Role, CreatedAt: m.Body.Time}
	text := m.Body.PlainText()
	if blank(text) {
		text = m.Body.Render()
	}
	part := *q
	part.runes = runes
	e, _ := part.excerpt([]byte(text))
	n.Snippet, n.Truncated = valid([]byte(text[e.start:e.end])), e.end < len(text)
	if e.start > 0 {
		n.Snippet = "[…] " + n.Snippet
	}
	return n
}

// blank reports that a text shows nothing.
func blank(text string) bool { return strings.TrimSpace(text) == "" }
