package ingest

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// stored is a stored message with its ids and hashes.
type stored struct {
	id     store.MessageID
	conv   store.ConversationID
	seq    int64
	native string
	record [sha256.Size]byte
	hash   [sha256.Size]byte // its identity, if load set it
	hidden bool
}

func storedOf(m store.Message) stored {
	return stored{
		id: m.ID, conv: m.Conversation, seq: m.Seq, native: m.Native, record: m.SHA256,
		hidden: m.Flags&store.FlagHidden != 0,
	}
}

// branch reads the active branch of a conversation. Its view is read once.
type branch struct {
	*Ingester
	items []store.Item
	ids   []store.MessageID // all of it, once walked
}

func (in *Ingester) branch(ctx context.Context, id store.ConversationID) (*branch, error) {
	view, err := in.store.View(ctx, id, store.Window{})
	return &branch{Ingester: in, items: view.Items}, err
}

// newest returns the last message, or 0 if the branch is empty or ends in a
// summary.
func (b *branch) newest() store.MessageID {
	if len(b.items) == 0 {
		return 0
	}
	return b.items[len(b.items)-1].Message
}

// all returns the ids of the branch, oldest first.
func (b *branch) all(ctx context.Context) ([]store.MessageID, error) {
	if b.ids != nil {
		return b.ids, nil
	}
	ids := make([]store.MessageID, 0, len(b.items))
	var err error
	for _, it := range b.items {
		if ids, err = b.leaves(ctx, ids, it.ID); err != nil {
			return nil, err
		}
	}
	b.ids = ids
	return ids, nil
}

// set returns the ids of the branch as a set.
func (b *branch) set(ctx context.Context) (map[store.MessageID]bool, error) {
	ids, err := b.all(ctx)
	set := make(map[store.MessageID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set, err
}

// leaves adds the messages below a node.
func (b *branch) leaves(ctx context.Context, ids []store.MessageID, node store.ID) ([]store.MessageID, error) {
	if !node.IsSummary() {
		return append(ids, node.Message), nil
	}
	sources, err := b.store.Sources(ctx, node.Summary)
	for _, s := range sources {
		if err == nil {
			ids, err = b.leaves(ctx, ids, s)
		}
	}
	return ids, err
}

// batch is how many messages are read at a time.
const batch = 512

// load reads messages by id, with their identities.
func (in *Ingester) load(ctx context.Context, ids []store.MessageID) ([]stored, error) {
	all := make([]stored, 0, len(ids))
	for part := range slices.Chunk(ids, batch) {
		read, err := store.Collect(in.store.Messages(ctx, store.MessageQuery{IDs: part}))
		if err != nil {
			return nil, err
		}
		for _, m := range read { // an identity may need payloads, which are read after the messages
			said, err := in.original(ctx, m)
			if err != nil {
				return nil, err
			}
			s := storedOf(m)
			s.hash = identity(said)
			all = append(all, s)
		}
	}
	return all, nil
}

// original returns a message with its externalised content and its masked
// secrets, since the masking rules may change.
func (in *Ingester) original(ctx context.Context, m store.Message) (llms.Message, error) {
	if m.Flags&store.FlagMasked == 0 && len(store.Refs(m.Body.Parts)) == 0 {
		return m.Body, nil
	}
	record, err := in.store.Record(ctx, m.ID)
	if errors.Is(err, store.ErrDamaged) {
		return m.Body, nil // if the message arrives again it is stored again
	}
	if err != nil {
		return llms.Message{}, err
	}
	said, err := wire.Decode(m.Format, m.Body.Role, record)
	if err != nil {
		// A record in a host's own format: only the references in the body can
		// be compared.
		return m.Body, nil
	}
	return said, nil
}
