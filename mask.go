package lcm

import (
	"context"
	"errors"

	"github.com/lossless-context/lcm/internal/record/store"
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
