package lcm

import (
	"context"
	"errors"

	"github.com/lossless-context/lcm/internal/store"
)

// Unmasked counts the messages whose secrets are shown because they were stored
// before secrets were masked, up to limit; 0 is no limit.
func (e *Engine) Unmasked(ctx context.Context, limit int) (int, error) {
	n := 0
	err := e.eachUnmasked(ctx, func(ConversationID, []store.Mask) error { return nil }, func() bool {
		n++
		return limit == 0 || n < limit
	})
	return n, err
}

// MaskOlder masks the secrets of messages that were stored before secrets were
// masked: they stay in the records, and are gone from searches, contexts and
// summaries. Summaries of them are written anew, without a model. It
// returns how many messages that were.
func (e *Engine) MaskOlder(ctx context.Context, progress func(doing string)) (int, error) {
	masker, ok := e.store.(interface {
		Mask(context.Context, []store.Mask) error
		Reindex(context.Context) error
	})
	if !ok {
		return 0, errors.New("this store cannot mask what is stored")
	}
	tell(progress, "looking for secrets")
	n := 0
	err := e.eachUnmasked(ctx, func(id ConversationID, masks []store.Mask) error {
		release, err := e.runner.Hold(ctx, id)
		if err != nil {
			return err
		}
		defer release()
		return masker.Mask(ctx, masks)
	}, func() bool { n++; return true })
	if err != nil || n == 0 {
		return n, err
	}
	if err := e.reword(ctx, progress); err != nil {
		return n, err
	}
	tell(progress, "building the search index")
	return n, masker.Reindex(ctx)
}

// eachUnmasked calls each for every message that shows secrets, until it
// returns false, and done with those of a conversation.
func (e *Engine) eachUnmasked(ctx context.Context, done func(ConversationID, []store.Mask) error, each func() bool) error {
	all, err := e.store.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return err
	}
	for _, c := range all {
		var masks []store.Mask
		more := true
		for m, err := range e.store.Messages(ctx, store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				return err
			}
			record, err := e.store.Record(ctx, m.ID)
			if errors.Is(err, store.ErrDamaged) {
				continue
			}
			if err != nil {
				return err
			}
			mask, shows, err := e.ingest.Masked(m, record)
			if err != nil {
				return err
			}
			if shows {
				masks = append(masks, mask)
				if more = each(); !more {
					break
				}
			}
		}
		if len(masks) > 0 {
			if err := done(c.ID, masks); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
	}
	return nil
}
