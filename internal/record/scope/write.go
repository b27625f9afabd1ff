package scope

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
)

// mayHold refuses to put a conversation into a project outside.
func (n *writes) mayHold(p store.Project) error {
	if n.scope.Covers(p) {
		return nil
	}
	name := cmp.Or(p.Origin, p.Root)
	if name == "" {
		return fmt.Errorf("a conversation without a project is %w here: name one of the projects of the scope", ErrDenied)
	}
	return fmt.Errorf("writing to the project %q is %w here", name, ErrDenied)
}

// Open implements [store.Conversations].
func (n *writes) Open(ctx context.Context, c store.NewConversation) (store.Conversation, error) {
	if err := n.may(n.scope.Append, "writing"); err != nil {
		return store.Conversation{}, err
	}
	known, err := n.whole.Conversations(ctx, store.ConversationQuery{Key: c.Key, ActiveOnly: true, Limit: 1})
	if err != nil {
		return store.Conversation{}, err
	}
	if len(known) == 0 {
		err = n.mayHold(c.Project)
	}
	if err == nil && c.Parent != 0 {
		_, err = n.admit(ctx, c.Parent)
	}
	if err != nil {
		return store.Conversation{}, err
	}
	opened, err := n.whole.Open(ctx, c)
	if err == nil && !n.scope.Covers(opened.Project) {
		return store.Conversation{}, fmt.Errorf("the session key %q is taken outside of the scope, and opening it is %w here", c.Key, ErrDenied)
	}
	return opened, err
}

// mayWrite refuses to change a conversation outside, or any if the scope does not allow it.
func (n *writes) mayWrite(ctx context.Context, id store.ConversationID) error {
	if err := n.may(n.scope.Append, "writing"); err != nil {
		return err
	}
	_, err := n.admit(ctx, id)
	return err
}

// Archive implements [store.Conversations].
func (n *writes) Archive(ctx context.Context, id store.ConversationID, cause string) error {
	if err := n.mayWrite(ctx, id); err != nil {
		return err
	}
	return n.whole.Archive(ctx, id, cause)
}

// Fork implements [store.Conversations]. A fork cannot leave the scope.
func (n *writes) Fork(ctx context.Context, from store.ConversationID, at store.MessageID, c store.NewConversation) (store.Conversation, error) {
	err := n.may(n.scope.Append, "writing")
	if err == nil {
		var origin store.Conversation
		if origin, err = n.admit(ctx, from); err == nil {
			err = n.mayHold(cmp.Or(c.Project, origin.Project))
		}
	}
	if err == nil {
		err = n.admitNode(ctx, store.ID{Message: at})
	}
	if err == nil && c.Parent != 0 {
		_, err = n.admit(ctx, c.Parent)
	}
	return unless(err, func() (store.Conversation, error) { return n.whole.Fork(ctx, from, at, c) })
}

// Update implements [store.Store].
func (n *writes) Update(ctx context.Context, id store.ConversationID, fn func(store.Writer) error) error {
	if err := n.mayWrite(ctx, id); err != nil {
		return err
	}
	if n.all {
		return n.whole.Update(ctx, id, fn)
	}
	return n.whole.Update(ctx, id, func(w store.Writer) error { return fn(&writer{Writer: w}) })
}

// writer lets a message refer only to payloads that the same transaction has written:
// with the id of a payload outside it would become one of its holders.
type writer struct {
	store.Writer
	put []store.PayloadID
}

// PutPayload implements [store.Writer].
func (w *writer) PutPayload(ctx context.Context, p store.NewPayload) (store.PayloadID, error) {
	id, err := w.Writer.PutPayload(ctx, p)
	if err == nil {
		w.put = append(w.put, id)
	}
	return id, err
}

// Append implements [store.Writer].
func (w *writer) Append(ctx context.Context, ms ...store.NewMessage) ([]store.Appended, error) {
	for _, m := range ms {
		ids := slices.Clone(m.Payloads)
		for _, c := range m.Cuts {
			ids = append(ids, c.Payload)
		}
		for _, id := range ids {
			if !slices.Contains(w.put, id) {
				return nil, store.Missing(string(id))
			}
		}
	}
	return w.Writer.Append(ctx, ms...)
}

// order checks that everything that an order names is inside. Quotes is called with
// texts outside of the scope, so only the messages themselves decide there.
func (n *narrowed) order(ctx context.Context, o store.Erasure) (store.Erasure, error) {
	if err := n.may(n.scope.Erase, "erasing"); err != nil {
		return o, err
	}
	for _, id := range o.Conversations {
		if _, err := n.admit(ctx, id); err != nil {
			return o, err
		}
	}
	if len(o.Messages) > 0 {
		for _, err := range n.Messages(ctx, store.MessageQuery{IDs: o.Messages, Erased: true, NoRaw: true}) {
			if err != nil {
				return o, err
			}
		}
	}
	if !n.all {
		o.Quotes = nil
	}
	return o, nil
}

// Weigh implements [store.Eraser].
func (n *narrowed) Weigh(ctx context.Context, o store.Erasure) (store.Erased, error) {
	o, err := n.order(ctx, o)
	return unless(err, func() (store.Erased, error) { return n.whole.Weigh(ctx, o) })
}

// Erase implements [store.Eraser].
func (n *narrowed) Erase(ctx context.Context, o store.Erasure) (store.Erased, error) {
	o, err := n.order(ctx, o)
	return unless(err, func() (store.Erased, error) { return n.whole.Erase(ctx, o) })
}

// Unworded implements [store.Eraser].
func (n *narrowed) Unworded(ctx context.Context) ([]store.Summary, error) {
	all, err := n.whole.Unworded(ctx)
	return slices.DeleteFunc(all, func(s store.Summary) bool {
		_, err := n.admit(ctx, s.Conversation)
		return err != nil
	}), err
}

// Scrub implements [store.Eraser].
func (n *narrowed) Scrub(ctx context.Context) error {
	if err := n.may(n.scope.Erase, "erasing"); err != nil {
		return err
	}
	return n.whole.Scrub(ctx)
}

// Tombstones implements [store.Eraser].
func (n *narrowed) Tombstones(ctx context.Context) ([]store.Tombstone, error) {
	all, err := n.whole.Tombstones(ctx)
	if err != nil || n.all || len(all) == 0 {
		return all, err
	}
	list, err := n.Conversations(ctx, store.ConversationQuery{Erased: true})
	if err != nil {
		return nil, err
	}
	keys := map[string]bool{}
	for _, c := range list {
		keys[c.Key] = true
	}
	for i := range all {
		all[i].Sessions = slices.DeleteFunc(slices.Clone(all[i].Sessions), func(s store.ForgottenSession) bool { return !keys[s.Key] })
		all[i].Messages, all[i].Bytes = 0, 0
		for _, s := range all[i].Sessions {
			all[i].Messages += s.Messages
		}
	}
	return slices.DeleteFunc(all, func(t store.Tombstone) bool { return len(t.Sessions) == 0 }), nil
}

// Lift implements [store.Eraser]. It refuses a tombstone that also stands for messages
// outside.
func (n *narrowed) Lift(ctx context.Context, id int64) error {
	if err := n.may(n.scope.Erase, "lifting a tombstone"); err != nil {
		return err
	}
	mine, err := n.Tombstones(ctx)
	if err != nil {
		return err
	}
	all, err := n.whole.Tombstones(ctx)
	if err != nil {
		return err
	}
	of := func(list []store.Tombstone) int {
		for _, t := range list {
			if t.ID == id {
				return len(t.Sessions)
			}
		}
		return 0
	}
	if of(mine) == 0 || of(mine) != of(all) {
		return store.Missing(fmt.Sprint("tombstone ", id))
	}
	return n.whole.Lift(ctx, id)
}

// Forgotten implements [store.Eraser].
func (n *narrowed) Forgotten(ctx context.Context, key string, in store.Project, ms iter.Seq[store.Fingerprint]) ([]bool, error) {
	return n.whole.Forgotten(ctx, key, in, ms)
}

// Mask implements [store.Eraser].
func (n *narrowed) Mask(ctx context.Context, masks []store.Mask) error {
	if err := n.may(n.scope.Append, "writing"); err != nil {
		return err
	}
	for _, one := range masks {
		if err := n.admitNode(ctx, store.ID{Message: one.ID}); err != nil {
			return err
		}
	}
	return n.whole.Mask(ctx, masks)
}

// Reindex implements [store.Store]. Writes and erasures need it.
func (n *narrowed) Reindex(ctx context.Context) error {
	if err := n.may(n.scope.Append || n.scope.Erase, "building the search index"); err != nil {
		return err
	}
	return n.whole.Reindex(ctx)
}

// space is the name under which a space of the scope is kept.
func (n *narrowed) space(name string) string {
	if n.all || store.Spaces[name].Shared {
		return name
	}
	return n.scope.Name + "/" + name
}

// Get implements [store.State].
func (n *narrowed) Get(ctx context.Context, space, key string) (store.Value, error) {
	return n.whole.Get(ctx, n.space(space), key)
}

// Put implements [store.State].
func (n *narrowed) Put(ctx context.Context, space, key string, data []byte, version int64, expires time.Time) (int64, error) {
	return n.whole.Put(ctx, n.space(space), key, data, version, expires)
}

// Delete implements [store.State].
func (n *narrowed) Delete(ctx context.Context, space, key string, version int64) error {
	return n.whole.Delete(ctx, n.space(space), key, version)
}

// List implements [store.State].
func (n *narrowed) List(ctx context.Context, space string) ([]store.Value, error) {
	return n.whole.List(ctx, n.space(space))
}

// ReleaseMemory implements [store.Store].
func (n *narrowed) ReleaseMemory() { n.whole.ReleaseMemory() }

// Close implements [store.Store].
func (n *narrowed) Close() error { return n.whole.Close() }

// StartMap implements [store.Maps].
func (n *narrowed) StartMap(ctx context.Context, id store.ConversationID, m store.NewMap) (int64, error) {
	return unless(n.mayWrite(ctx, id), func() (int64, error) { return n.whole.StartMap(ctx, id, m) })
}

// StepMap implements [store.Maps].
func (n *narrowed) StepMap(ctx context.Context, id store.ConversationID, run int64, s store.MapStep) (store.MapState, error) {
	return unless(n.mayWrite(ctx, id), func() (store.MapState, error) { return n.whole.StepMap(ctx, id, run, s) })
}

// MapItems implements [store.Maps].
func (n *narrowed) MapItems(ctx context.Context, id store.ConversationID, run int64) iter.Seq2[store.MapItem, error] {
	if _, err := n.admit(ctx, id); err != nil {
		return func(yield func(store.MapItem, error) bool) { yield(store.MapItem{}, err) }
	}
	return n.whole.MapItems(ctx, id, run)
}

// EndMap implements [store.Maps].
func (n *narrowed) EndMap(ctx context.Context, id store.ConversationID, key string) error {
	if err := n.mayWrite(ctx, id); err != nil {
		return err
	}
	return n.whole.EndMap(ctx, id, key)
}
