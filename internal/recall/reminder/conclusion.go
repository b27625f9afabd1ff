package reminder

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// maxTurn is the number of messages before and after a match that are read to cite its turn.
const maxTurn = 80

// lines cites exchanges, no text twice. When the time is up it cites the part of each that was read.
func (f *found) lines(ctx context.Context, r Record, chosen []*exchange) ([]Line, error) {
	var out []Line
	cited := map[string]store.MessageID{}
	for i, x := range chosen {
		if !x.whole {
			t, _, err := readTurn(ctx, r, x.conversation, x.seq, maxTurn)
			switch {
			case err == nil:
				x.turn = t
			case ctx.Err() == nil:
				return nil, err
			}
		}
		for _, c := range f.cite(x.turn, i == 0) {
			if len(out) == MaxLines {
				return out, nil
			}
			if c.asked != nil && cited[c.asked.text] == c.asked.ID {
				c.asked = nil // a line above has it
			}
			if cited[c.said.text] != 0 || c.asked != nil && cited[c.asked.text] != 0 || slices.Contains(f.shown, c.said.ID) {
				continue
			}
			cited[c.said.text] = c.said.ID
			if c.asked != nil {
				cited[c.asked.text] = c.asked.ID
			}
			out = append(out, f.line(x.conversation, c))
		}
	}
	return out, nil
}

// citation is a text, and the one that it answers, or nil.
type citation struct{ said, asked *piece }

// Bounds of the choice of a reply.
const (
	earlier = 1.0 // weight by which another text of the turn must surpass the last one
	little  = 5   // words of a reply without a term of the prompt: "done" says less than the request
)

// cite chooses the texts of a turn that are shown: the reply to its request, and what the
// user said to it if it asks, or if the exchange is the best and the words of the prompt are
// those of the reply: then it is a remark or a proposal. A reply that says little gives way
// to the request.
func (f *found) cite(t turn, best bool) []citation {
	var request, reply *piece
	for _, m := range slices.Backward(t.messages) {
		if m.Body.Role == llms.RoleTool {
			continue // long, and not said
		}
		switch p := f.piece(m); {
		case p.said && m.Body.Role == llms.RoleUser:
			request = p
		case p.said && (reply == nil || f.weight(p) > f.weight(reply)+earlier):
			reply = p
		}
	}
	switch {
	case reply != nil && t.after != nil && (reply.asks() || best && (request == nil || f.weight(reply) > f.weight(request))):
		return []citation{{reply, request}, {f.piece(*t.after), nil}}
	case reply != nil && (request == nil || request.asks() || f.weight(reply) > 0 || len(strings.Fields(reply.text)) > little):
		return []citation{{reply, request}}
	case len(t.messages) == 0: // all of it repeats the record
		return nil
	case request == nil: // only calls of tools
		return []citation{{f.piece(t.messages[0]), nil}}
	case t.before != nil:
		if before := f.piece(*t.before); f.answers(request, before) {
			return []citation{{request, before}}
		}
	}
	return []citation{{request, nil}}
}

// weight is the weight of the terms that a text has.
func (f *found) weight(p *piece) (sum float64) {
	for _, t := range p.has.Terms {
		sum += f.weights[t]
	}
	return sum
}

// line renders a citation of a conversation.
func (f *found) line(in store.Conversation, c citation) Line {
	l := Line{ID: c.said.ID, Conversation: in, Time: cmp.Or(c.said.Body.Time, c.said.Stored), Who: c.said.Body.Role, Text: f.excerpt(c.said)}
	if c.asked != nil {
		l.Asked = strings.Trim(f.excerpt(c.asked), "…")
	}
	return l
}

// excerpt chooses the part of a text that a line shows: from the beginning of a sentence,
// with most of the query's words; of a long text, with much of the text after them.
func (f *found) excerpt(p *piece) string {
	start, end := f.window(p)
	piece := p.text[start:end]
	if start > 0 {
		piece = "…" + piece
	}
	if end < len(p.text) {
		piece += "…"
	}
	return piece
}

func (f *found) window(p *piece) (start, end int) {
	text, within := p.text, p.has
	if len(text) <= shown {
		return 0, len(text)
	}
	starts := []int{within.Start}
	if len(within.Ranges) > 0 {
		starts = append(starts, max(within.Start, within.Ranges[0][0]-shown/4))
	}
	for i := within.Start; i < within.End; i++ {
		if i > 0 && strings.IndexByte(".!?:;\n", text[i-1]) >= 0 && (text[i] == ' ' || text[i] == '\n' || text[i-1] == '\n') {
			starts = append(starts, i)
		}
	}
	best := -1.0
	for _, s := range starts {
		s = max(0, min(s, len(text)-shown))
		for s > 0 && !utf8.RuneStart(text[s]) {
			s--
		}
		e := min(len(text), s+shown)
		for e < len(text) && !utf8.RuneStart(text[e]) {
			e--
		}
		has := f.query.Excerpt([]byte(text[s:e]), shown)
		score := 0.0
		for _, t := range has.Terms {
			score += f.weights[t]
		}
		if score > best || score == best && len(has.Terms) > 0 && len(text) > 2*shown {
			best, start, end = score, s, e
		}
	}
	return start, end
}
