package ingest

import (
	"context"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
)

// natives finds messages by native id. A fork may use an id again that it also
// inherited.
func (in *Ingester) natives(ctx context.Context, from []store.Origin, ids []string) (map[string][]stored, error) {
	found := make(map[string][]stored, len(ids))
	for _, o := range from {
		for part := range slices.Chunk(ids, batch) {
			q := store.MessageQuery{Conversation: o.Conversation, Natives: part}
			for m, err := range in.store.Messages(ctx, q) {
				if err != nil {
					return nil, err
				}
				if m.Seq <= o.UpTo {
					found[m.Native] = append(found[m.Native], storedOf(m))
				}
			}
		}
	}
	return found, nil
}

// byID finds the messages of a history that are stored with the same id and
// record, and sets them in known. If an id has another record, byID looks for
// the next id that Put would have chosen.
func (in *Ingester) byID(ctx context.Context, from []store.Origin, history []input, known []*stored) error {
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
func (in *Ingester) inherited(ctx context.Context, c store.Conversation, ms []input) ([]*stored, error) {
	from, err := store.Origins(ctx, in.store, c)
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
