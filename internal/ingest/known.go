package ingest

import (
	"context"
	"math"
	"slices"

	"github.com/lossless-context/lcm/internal/store"
)

// scope is a part of the record that a conversation can name messages of: its
// own, and those of the ones it was forked from, up to the fork.
type scope struct {
	conv store.ConversationID
	upTo int64 // the last Seq of it
}

// scopes lists where the native ids of a conversation are looked for.
func (in *Ingester) scopes(ctx context.Context, c store.Conversation) ([]scope, error) {
	all := []scope{{c.ID, math.MaxInt64}}
	seen := map[store.ConversationID]bool{c.ID: true}
	var forks []store.Message // where the forks on the way left their origins
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
		// A fork at a message that its origin had inherited itself shares
		// nothing of what was said in the origin.
		upTo := int64(math.MaxInt64)
		for _, m := range forks {
			if m.Conversation == c.ID {
				upTo = min(upTo, m.Seq)
			}
		}
		if upTo < math.MaxInt64 {
			all = append(all, scope{c.ID, upTo})
		}
	}
	return all, nil
}

// natives finds messages by native id. A fork may have given an id again that
// it also inherited.
func (in *Ingester) natives(ctx context.Context, where []scope, ids []string) (map[string][]stored, error) {
	found := make(map[string][]stored, len(ids))
	for _, s := range where {
		for at := 0; at < len(ids); at += batch {
			q := store.MessageQuery{Conversation: s.conv, Natives: ids[at:min(at+batch, len(ids))]}
			for m, err := range in.store.Messages(ctx, q) {
				if err != nil {
					return nil, err
				}
				if m.Seq <= s.upTo {
					found[m.Native] = append(found[m.Native], storedOf(m))
				}
			}
		}
	}
	return found, nil
}

// byID finds the messages of a history that are stored, id and record, and
// sets them in known. An id that is there with another record is looked for
// under the next id that it would have been given.
func (in *Ingester) byID(ctx context.Context, where []scope, history []Input, known []*stored) error {
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
		found, err := in.natives(ctx, where, ids)
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

// inherited finds which of the messages a fork shows already as its origin's.
func (in *Ingester) inherited(ctx context.Context, c store.Conversation, ms []Input) ([]*stored, error) {
	where, err := in.scopes(ctx, c)
	if err != nil {
		return nil, err
	}
	known := make([]*stored, len(ms))
	if err := in.byID(ctx, where[1:], ms, known); err != nil {
		return nil, err
	}
	b, err := in.branch(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	active, err := b.all(ctx)
	if err != nil {
		return nil, err
	}
	shown := setOf(active)
	for i, s := range known {
		if s != nil && !shown[s.id] {
			known[i] = nil
		}
	}
	return known, nil
}
