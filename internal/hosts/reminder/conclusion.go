package reminder

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/hosts/internal/shortanswer"
	"github.com/lossless-context/lcm/internal/recall/search"
	"github.com/lossless-context/lcm/internal/recall/secondhand"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Bounds of the conclusion of an exchange.
const (
	maxTurn  = 80  // messages after a request that are searched for its reply
	maxAsked = 120 // characters of the request that are shown with the reply
	minReply = 40  // bytes of a reply to a statement: "done" says less than the request
)

// conclude replaces a line that cites a request by the reply, which has the answer, and
// adds the user's choice below a question to the user.
func (f *found) conclude(ctx context.Context, r Record, lines []Line) ([]Line, error) {
	var out []Line
	add := func(l Line) {
		known := slices.Contains(f.shown, l.ID) || slices.ContainsFunc(out, func(o Line) bool { return o.ID == l.ID })
		if !known && len(out) < MaxLines {
			out = append(out, l)
		}
	}
	for _, l := range lines {
		reply, err := f.reply(ctx, r, l)
		switch {
		case err != nil && ctx.Err() == nil:
			return nil, err
		case reply == nil: // also when the time is up
			add(l)
		case l.Who == llms.RoleUser:
			reply.Asked = strings.Trim(l.Text, "…")
			add(*reply)
		default:
			add(l)
			add(*reply)
		}
	}
	return out, nil
}

// reply finds the message that concluded the cited one: the user's choice after the turn,
// else the last text of the turn that a request began. Nil means the cited one says most.
func (f *found) reply(ctx context.Context, r Record, cited Line) (*Line, error) {
	var turn []store.Message
	var last, choice *store.Message
	for m, err := range r.Messages(ctx, store.MessageQuery{Conversation: cited.Conversation.ID, After: cited.seq, Limit: maxTurn, NoRaw: true}) {
		if err != nil {
			return nil, err
		}
		if turn = append(turn, m); m.Body.Role == llms.RoleUser && m.Flags.Said() {
			break
		}
	}
	for i, repeats := range secondhand.Messages(turn) {
		m := &turn[i]
		text := strings.TrimSpace(m.Body.PlainText())
		switch {
		case !m.Flags.Said() || text == "":
		case m.Body.Role == llms.RoleAssistant && !repeats:
			last = m
		case m.Body.Role == llms.RoleUser && (isAsked(cited, last) || last == nil && shortanswer.Is(text)):
			choice = m
		}
	}
	switch {
	case choice != nil:
	case cited.Who == llms.RoleUser && last != nil && (strings.Contains(cited.Text, "?") || len(last.Body.PlainText()) >= minReply):
		choice = last
	default:
		return nil, nil
	}
	text := strings.TrimSpace(choice.Body.PlainText())
	l := f.line(cited.Conversation, *choice, text, f.query.Excerpt([]byte(text), passage))
	return &l, nil
}

// isAsked reports whether the last message before the user's, or the cited one, ends with a question.
func isAsked(cited Line, last *store.Message) bool {
	if last == nil {
		return cited.Who == llms.RoleAssistant && strings.HasSuffix(cited.Text, "?")
	}
	return strings.HasSuffix(strings.TrimSpace(last.Body.PlainText()), "?")
}

// window chooses the part of a text that a line shows: from the beginning of a sentence,
// with most of the query's words and much of the text after them.
func (f *found) window(text string, within search.Excerpt) (start, end int) {
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
		if score > best || score == best && len(has.Terms) > 0 {
			best, start, end = score, s, e
		}
	}
	return start, end
}
