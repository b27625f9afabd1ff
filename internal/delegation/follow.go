package delegation

import (
	"context"

	"github.com/lossless-context/lcm/internal/store"
)

// What follows a passage is shown while the result takes less than followShare
// of its bound.
const (
	followShare = 0.6
	followReach = 4  // messages after a passage, prose and others counted apart
	followSpan  = 48 // messages in which they are looked for
)

// follow adds the messages that come after the best matches: a reply or a
// decision often has none of the question's words. Every match gets its next
// message before any gets the one beyond. Prose comes first, over the tool calls
// and results in between; these follow where there is still room. The end of the
// session with the best match comes after the first round: it says how the
// matter was left.
func (e *extract) follow(ctx context.Context) error {
	if !e.short() {
		return nil
	}
	var prose, rest [][]store.Message
	for _, p := range e.passages {
		if !p.cited {
			continue
		}
		next, others, err := e.after(ctx, p.msg.Conversation, p.msg.Seq)
		if err != nil {
			return err
		}
		prose, rest = append(prose, next), append(rest, others)
	}
	for _, lists := range [][][]store.Message{prose, rest} {
		for far := range followReach {
			for _, next := range lists {
				if far < len(next) {
					if err := e.addFollowing(ctx, next[far]); err != nil {
						return err
					}
				}
			}
			if far == 0 {
				if err := e.addEnd(ctx); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// addEnd adds the last prose of the session with the best passage, where the
// session ends within followSpan messages of one of its passages.
func (e *extract) addEnd(ctx context.Context) error {
	in, last := e.passages[0].msg.Conversation, int64(0)
	for _, p := range e.passages {
		if p.msg.Conversation == in {
			last = max(last, p.msg.Seq)
		}
	}
	for _, err := range e.config.Store.Messages(ctx, store.MessageQuery{Conversation: in, After: last + followSpan, NoRaw: true, Limit: 1}) {
		return err // it goes on beyond
	}
	prose, _, err := e.after(ctx, in, last)
	if err != nil || len(prose) == 0 {
		return err
	}
	return e.addFollowing(ctx, prose[len(prose)-1])
}

// after returns what was said after a message within followSpan messages, and
// the tool calls and results there.
func (e *extract) after(ctx context.Context, in store.ConversationID, seq int64) (prose, rest []store.Message, err error) {
	for m, err := range e.config.Store.Messages(ctx, store.MessageQuery{Conversation: in, After: seq, Before: seq + followSpan + 1, NoRaw: true}) {
		switch {
		case err != nil:
			return nil, nil, err
		case m.Flags&(store.FlagEcho|store.FlagHidden|store.FlagSynthetic) != 0:
		case spoken(m):
			prose = append(prose, m)
		default:
			rest = append(rest, m)
		}
	}
	return prose, rest, nil
}

// addFollowing adds a message if the result is short.
func (e *extract) addFollowing(ctx context.Context, m store.Message) error {
	if !e.short() {
		return nil
	}
	_, err := e.add(ctx, candidate{msg: m}, len(e.passages), false, false)
	return err
}

// short reports that the result takes less than followShare of its bound.
func (e *extract) short() bool { return float64(e.used) < followShare*float64(e.bound) }
