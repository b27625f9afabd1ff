package ingest

import (
	"context"
	"math"
	"slices"

	"github.com/lossless-context/lcm/internal/store"
)

// origin is a conversation whose messages a conversation can name: itself, and
// those that it was forked from, up to the fork.
type origin struct {
	conv store.ConversationID
	upTo int64 // the last Seq that belongs to it
}

// origins lists the conversations in which native ids are looked up.
func (in *Ingester) origins(ctx context.Context, c store.Conversation) ([]origin, error) {
	all := []origin{{c.ID, math.MaxInt64}}
	seen := map[store.ConversationID]bool{c.ID: true}
	var forks []store.Message // the messages at which the conversations were forked
	for c.ForkedFrom != 0 && !seen[c.ForkedFrom] {
		at, err := collect(in.store.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{c.ForkedAt}, Erased: true}))
		if err != nil {
			return nil, err
		}
		forks = append(forks, at...)
		if c, err = in.store.Conversation(ctx, c.ForkedFrom); err != nil {
			return nil, err
		}
		seen[c.ID] = true
		// A fork at a message that its origin had itself inherited shares no
		// message of the origin.
		upTo := int64(math.MaxInt64)
		for _, m := range forks {
			if m.Conversation == c.ID {
				upTo = min(upTo, m.Seq)
			}
		}
		if upTo < math.MaxInt64 {
			all = append(all, origin{c.ID, upTo})
		}
	}
	return all, nil
}

// natives finds messages by native id. A fork may use an id again that it also
// inherited.
func (in *Ingester) natives(ctx context.Context, from []origin, ids []string) (map[string][]stored, error) {
	found := make(map[string][]stored, len(ids))
	for _, o := range from {
		for part := range slices.Chunk(ids, batch) {
			q := store.MessageQuery{Conversation: o.conv, Natives: part}
			for m, err := range in.store.Messages(ctx, q) {
				if err != nil {
					return nil, err
				}
				if m.Seq <= o.upTo {
					found[m.Native] = append(found[m.Native], storedOf(m))
				}
			}
		}
	}
	return found, nil
}

// byID finds the messages of a history that are stored with the same id and
// record, and sets them in known. If an id has another record, byID looks for
// the next id that put would have chosen.
func (in *Ingester) byID(ctx context.Context, from []origin, history []Input, known []*stored) error {
	type open struct {
		at int
		id string
	}
	var left []open
	for i, m := range history {
		if m.ID != "" {
			left = append(left, open{i, m.ID})
		}
	}
	for len(left) > 0 {
		ids := make([]string, len(left))
		for i, o := range left {
			ids[i] = o.id
		}
		found, err := in.natives(ctx, from, ids)
		if err != nil {
			return err
		}
		var next []open
		for _, o := range left {
			all := found[o.id]
			if len(all) == 0 {
				continue
			}
			sum := recordSum(history[o.at].Message)
			same := slices.IndexFunc(all, func(m stored) bool { return m.record == sum })
			if same >= 0 {
				known[o.at] = &all[same]
			} else {
				next = append(next, open{o.at, secondID(o.id, sum)})
			}
		}
		left = next
	}
	return nil
}

// inherited finds the messages that a fork shows as its origin's.
func (in *Ingester) inherited(ctx context.Context, c store.Conversation, ms []Input) ([]*stored, error) {
	from, err := in.origins(ctx, c)
	if err != nil {
		return nil, err
	}
	known := make([]*stored, len(ms))
	if err := in.byID(ctx, from[1:], ms, known); err != nil {
		return nil, err
	}
	b, err := in.branch(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	shown, err := b.set(ctx)
	for i, s := range known {
		if s != nil && !shown[s.id] {
			known[i] = nil
		}
	}
	return known, err
}
