package lookup

import (
	"context"
	"maps"
	"slices"

	"github.com/lossless-context/lcm/internal/recall/secondhand"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// exchangeReach is how many messages on either side of one are looked through for the
// ends of its exchange.
const exchangeReach = 40

// exchange is a prompt and what followed it up to the next prompt, as far as it was
// looked through.
type exchange struct {
	messages []store.Message
	part     bool            // more was not needed
	words    map[string]bool // see content
}

// content returns the words of all messages that are not common.
func (e *exchange) content() map[string]bool {
	if e.words == nil {
		e.words = map[string]bool{}
		for _, m := range e.messages {
			maps.Copy(e.words, contentWords(m.Body.SearchText()))
		}
	}
	return e.words
}

// place returns which of the messages of an exchange one is.
func (e *exchange) place(of store.Message) int {
	return slices.IndexFunc(e.messages, func(m store.Message) bool { return m.ID == of.ID })
}

// exchanges reads exchanges, each once.
type exchanges struct {
	store Store
	known map[store.MessageID]*exchange
}

// of returns the exchange of a message.
func (x *exchanges) of(ctx context.Context, m store.Message) (*exchange, error) {
	return x.read(ctx, m, func(store.Message) bool { return false })
}

// origin returns as much of the exchange of a message as tells whether it repeats the record.
// Most exchanges call a tool next to it, so the forty messages on either side are not read.
func (x *exchanges) origin(ctx context.Context, m store.Message) (*exchange, error) {
	return x.read(ctx, m, secondhand.Settles(m))
}

// read reads the exchange of a message until a part of it is enough.
func (x *exchanges) read(ctx context.Context, m store.Message, enough func(store.Message) bool) (*exchange, error) {
	if e := x.known[m.ID]; e != nil {
		return e, nil
	}
	e := &exchange{part: enough(m)}
	if !e.part && !isPrompt(m) {
		for b, err := range x.store.Messages(ctx, store.MessageQuery{Conversation: m.Conversation, Before: m.Seq, Newest: true, NoRaw: true, Limit: exchangeReach}) {
			if err != nil {
				return nil, err
			}
			e.messages, e.part = append(e.messages, b), enough(b)
			if e.part || isPrompt(b) {
				break
			}
		}
		slices.Reverse(e.messages)
	}
	e.messages = append(e.messages, m)
	if !e.part {
		for a, err := range x.store.Messages(ctx, store.MessageQuery{Conversation: m.Conversation, After: m.Seq, NoRaw: true, Limit: exchangeReach}) {
			if err != nil {
				return nil, err
			}
			if isPrompt(a) {
				break
			}
			e.messages, e.part = append(e.messages, a), enough(a)
			if e.part {
				break
			}
		}
	}
	if e.part {
		return e, nil
	}
	if x.known == nil {
		x.known = map[store.MessageID]*exchange{}
	}
	for _, o := range e.messages {
		x.known[o.ID] = e
	}
	return e, nil
}

// isPrompt reports what a user typed.
func isPrompt(m store.Message) bool {
	return m.Body.Role == llms.RoleUser && m.Flags.Said() && len(m.Body.ToolResults()) == 0 && !blank(m.Body.PlainText())
}
