package hosts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// goBack rewinds the view to the message that a record continues from, unless the record
// was stored before. The messages after it are kept as a branch.
func (r *reading) goBack(ctx context.Context, rec Record) error {
	if r.session == nil {
		if r.held.Conversation == 0 {
			return nil // there is nothing to rewind
		}
		if err := r.open(ctx); err != nil {
			return err
		}
	}
	known, err := r.natives(ctx, rec.ID, rec.After)
	if _, stored := known[rec.ID]; stored || err != nil {
		return err
	}
	var to store.Message // the beginning
	if rec.After != "" {
		m, ok := known[rec.After]
		if !ok {
			m, err = r.inherited(ctx, r.conv, rec.After)
		}
		if err == nil && m.ID == 0 {
			return nil // it answers a message that is not stored
		}
		if rec.Before {
			m.Flags |= store.FlagHidden
		}
		if err == nil {
			to, err = r.visible(ctx, m)
		}
	}
	if err != nil {
		return err
	}
	return r.rewind(ctx, to)
}

// visible returns a message or, if it is hidden, the last one before it that is not.
func (r *reading) visible(ctx context.Context, m store.Message) (store.Message, error) {
	if m.Flags&store.FlagHidden == 0 {
		return m, nil
	}
	q := store.MessageQuery{Conversation: m.Conversation, Before: m.Seq, Newest: true}
	for m, err := range r.feed.store.Messages(ctx, q) {
		if err != nil || m.Flags&store.FlagHidden == 0 {
			return m, err
		}
	}
	return store.Message{}, nil
}

// rewind makes a message the newest of the view, unless only tool traffic follows it:
// answers to parallel calls look like branches.
func (r *reading) rewind(ctx context.Context, to store.Message) error {
	var said []store.MessageID
	for m, err := range r.feed.store.Messages(ctx, store.MessageQuery{Conversation: r.conv, After: to.Seq}) {
		if err != nil {
			return err
		}
		if m.Flags&store.FlagHidden == 0 && m.Body.Role != llms.RoleTool && m.Body.PlainText() != "" {
			said = append(said, m.ID)
		}
	}
	return r.feed.store.Update(ctx, r.conv, func(w store.Writer) (err error) {
		on := true
		if to.ID != 0 {
			on, err = w.Active(ctx, to.ID)
		}
		left := !on
		for i := 0; i < len(said) && !left && err == nil; i++ {
			left, err = w.Active(ctx, said[i])
		}
		if left && err == nil {
			_, err = w.Rewind(ctx, to.ID, "the host went back to an earlier message")
		}
		return err
	})
}

// natives finds messages by the ids of their records.
func (r *reading) natives(ctx context.Context, ids ...string) (map[string]store.Message, error) {
	found := map[string]store.Message{}
	for m, err := range r.feed.store.Messages(ctx, store.MessageQuery{Conversation: r.conv, Natives: ids}) {
		if err != nil {
			return nil, err
		}
		found[m.Native] = m
	}
	return found, nil
}

// revisions gives records that the host changed after they were stored an id of their
// own, and hides them: the first form counts. So it does for a message of a turn that an
// engine stored before the host wrote it: its record is not in the host's format.
func (r *reading) revisions(ctx context.Context) error {
	var ids []string
	engine := r.host.About().HasEngine
	for _, rec := range r.batch {
		if rec.Mutable || engine {
			ids = append(ids, rec.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	known, err := r.natives(ctx, ids...)
	if err != nil {
		return err
	}
	for i := range r.batch {
		rec := &r.batch[i]
		m, ok := known[rec.ID]
		sum := sha256.Sum256(rec.Raw.Bytes)
		switch {
		case rec.Copy && !ok && r.begun:
			rec.Flags |= store.FlagHidden
		case rec.Copy:
		case !rec.Mutable && (!ok || m.Body.Raw.Format == rec.Raw.Format):
		case !ok:
			known[rec.ID] = store.Message{SHA256: sum} // another form may follow in this batch
		case m.SHA256 != sum:
			rec.ID += "@" + hex.EncodeToString(sum[:6])
			rec.Flags |= store.FlagHidden
		}
	}
	// The session itself has these, with other bytes.
	was := len(r.batch)
	r.batch = slices.DeleteFunc(r.batch, func(rec Record) bool { return rec.Copy && known[rec.ID].ID != 0 })
	r.report.Known += was - len(r.batch)
	return nil
}
