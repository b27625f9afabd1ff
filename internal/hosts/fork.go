package hosts

import (
	"context"
	"errors"

	"github.com/lossless-context/lcm/internal/record/store"
)

// fork opens the conversation of a session that begins with the history of another one,
// and is not stored yet. Without that history it begins empty.
func (r *reading) fork(ctx context.Context, opening store.NewConversation) error {
	if len(r.batch) == 0 || r.batch[0].ForkOf == "" {
		return nil
	}
	have, err := r.feed.store.Conversations(ctx, store.ConversationQuery{Key: opening.Key, Erased: true, Limit: 1})
	if err != nil || len(have) > 0 {
		return err
	}
	from, at, err := r.forkPoint(ctx, r.batch[0])
	if err != nil || at.ID == 0 {
		return err
	}
	opening.Time = r.batch[0].Time
	_, err = r.feed.store.Fork(ctx, from, at.ID, opening)
	return err
}

// forkPoint finds the conversation that a session begins with and the last message of it
// that it shares, or 0. It reads that session first.
func (r *reading) forkPoint(ctx context.Context, rec Record) (from store.ConversationID, at store.Message, err error) {
	origin, err := FindSession(ctx, r.host, r.host.Find(r.feed.machine), rec.ForkOf)
	if errors.Is(err, ErrNoTranscript) || origin.Session == r.t.Session {
		return 0, at, nil // it was deleted
	}
	if err != nil {
		return 0, at, err
	}
	report, err := r.feed.CatchUp(ctx, origin, Limits{Wait: true})
	if err != nil || report.Conversation == 0 {
		return 0, at, err
	}
	m, err := r.inherited(ctx, report.Conversation, rec.ForkAt)
	if err != nil || m.ID == 0 {
		return 0, at, err
	}
	at, err = r.visible(ctx, m)
	return report.Conversation, at, err
}

// inherited finds the message of a record in a conversation or in those that it was
// forked from. It returns the zero message if there is none.
func (r *reading) inherited(ctx context.Context, in store.ConversationID, native string) (store.Message, error) {
	c, err := r.feed.store.Conversation(ctx, in)
	if err != nil {
		return store.Message{}, err
	}
	origins, err := store.Origins(ctx, r.feed.store, c)
	for _, o := range origins {
		for m, err := range r.feed.store.Messages(ctx, store.MessageQuery{Conversation: o.Conversation, Natives: []string{native}}) {
			if err != nil || m.Seq <= o.UpTo {
				return m, err
			}
		}
	}
	return store.Message{}, err
}
