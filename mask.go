package lcm

import (
	"context"
	"errors"
	"strings"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// Unmasked counts the messages whose secrets are shown because they were stored
// before secrets were masked, up to limit; 0 is no limit.
func (e *Engine) Unmasked(ctx context.Context, limit int) (int, error) {
	return e.eachUnmasked(ctx, limit, func(record.ConversationID, []store.Mask) error { return nil })
}

// MaskOlder masks the secrets of messages that were stored before secrets were
// masked: the secrets stay in the records, and are gone from searches, contexts and
// summaries. It writes the summaries of those messages anew, without a model, and
// returns the number of messages.
func (e *Engine) MaskOlder(ctx context.Context, progress func(doing string)) (int, error) {
	reportStep(progress, "looking for secrets")
	n, err := e.eachUnmasked(ctx, 0, func(id record.ConversationID, masks []store.Mask) error {
		release, err := e.runner.Hold(ctx, id)
		if err != nil {
			return err
		}
		defer release()
		return e.store.Mask(ctx, masks)
	})
	if err != nil || n == 0 {
		return n, err
	}
	if err := e.reword(ctx, progress); err != nil {
		return n, err
	}
	reportStep(progress, "building the search index")
	return n, e.store.Reindex(ctx)
}

// eachUnmasked calls found with the messages of each conversation that show
// secrets, and returns how many there are, at most limit; 0 is no limit.
func (e *Engine) eachUnmasked(ctx context.Context, limit int, found func(record.ConversationID, []store.Mask) error) (n int, err error) {
	all, err := e.store.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return 0, err
	}
	for _, c := range all {
		var masks []store.Mask
		for m, err := range e.store.Messages(ctx, store.MessageQuery{Conversation: c.ID}) {
			if limit > 0 && n == limit {
				break
			}
			if err != nil {
				return n, err
			}
			record, err := e.store.Record(ctx, m.ID)
			if errors.Is(err, store.ErrDamaged) {
				continue
			}
			if err != nil {
				return n, err
			}
			mask, shows, err := e.ingest.Masked(m, record)
			if err != nil {
				return n, err
			}
			if shows {
				masks = append(masks, mask)
				n++
			}
		}
		if len(masks) > 0 {
			if err := found(c.ID, masks); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// unmasked returns a message of a session's own view with its secrets. An agent must not
// lose a token that the user has just given it; searches, summaries and tools show
// masked text. Content in a payload stays masked.
func (e *Engine) unmasked(ctx context.Context, m store.Message) (store.Message, error) {
	if m.Flags&store.FlagMasked == 0 {
		return m, nil
	}
	record, err := e.store.Record(ctx, m.ID)
	if errors.Is(err, store.ErrDamaged) {
		return m, nil // its text is undamaged
	}
	if err != nil {
		return m, err
	}
	said, err := wire.Decode(m.Format, m.Body.Role, record)
	if err != nil {
		return m, nil
	}
	if parts, ok := unmaskedParts(m.Body.Parts, said.Parts); ok {
		m.Body.Parts = parts
		m.Tokens = llms.CountMessage(e.settings.counter, m.Body)
	}
	return m, nil
}

// unmaskedParts returns the parts of said, with the parts of shown where those
// refer to a payload. It reports false if the two are not the same message.
func unmaskedParts(shown, said []llms.Part) ([]llms.Part, bool) {
	if len(shown) != len(said) {
		return nil, false
	}
	out := make([]llms.Part, len(shown))
	for i, p := range shown {
		q := said[i]
		if p.Kind != q.Kind || (p.Call == nil) != (q.Call == nil) || (p.Result == nil) != (q.Result == nil) {
			return nil, false
		}
		switch {
		case p.Ref != nil:
			out[i] = p
		case p.Call != nil && strings.Contains(p.Call.Arguments, "file_") && !strings.Contains(q.Call.Arguments, "file_"):
			out[i] = p
		case p.Result != nil:
			output, ok := unmaskedParts(p.Result.Output, q.Result.Output)
			if !ok {
				return nil, false
			}
			r := *q.Result
			r.Name, r.Output = p.Result.Name, output
			q.Result = &r
			out[i] = q
		default:
			out[i] = q
		}
	}
	return out, true
}

// asCalled returns a message with its tool calls as the model made them, without references to
// files and masks.
func (e *Engine) asCalled(ctx context.Context, m record.Message) (record.Message, error) {
	raw, err := e.store.Record(ctx, m.ID)
	if err != nil {
		return m, err
	}
	said, err := wire.Decode(m.Format, m.Body.Role, raw)
	if err == nil {
		m.Body.Parts = said.Parts
	}
	return m, err
}
