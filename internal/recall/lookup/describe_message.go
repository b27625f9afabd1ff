package lookup

import (
	"context"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// message describes a message, and returns it.
func (d *description) message(ctx context.Context, id store.MessageID) (store.Message, error) {
	a := &d.answer
	m, err := d.Service.message(ctx, id)
	if err != nil {
		return m, err
	}
	if err := within(a.Scope, id.String(), m.Conversation); err != nil {
		return m, err
	}
	a.Type, a.ConversationID, a.CreatedAt = "message", m.Conversation, m.Body.Time
	a.TokenCount, a.ByteSize, a.SHA256 = m.Tokens, m.Size, hexSum(m.SHA256)
	a.MessageDetail = &recall.MessageDetail{
		Role: m.Body.Role, Seq: m.Seq, NativeID: m.Native, Format: m.Format, Flags: flagNames(m.Flags), StoredAt: m.Stored,
	}
	if a.FileIDs, err = d.store.Attached(ctx, id); err != nil {
		return m, err
	}
	if !attaches(m.Body.Parts, a.FileIDs) {
		a.Damaged = true
		a.Notes = append(a.Notes, "damaged: the list of its files is not the one that was written")
	}
	around, err := d.around(ctx, m, 1)
	if err != nil {
		return m, err
	}
	if len(around.Before) > 0 {
		a.Previous = &around.Before[0]
	}
	if len(around.After) > 0 {
		a.MessageDetail.Next = &around.After[0]
	}
	a.CoveringIDs, err = d.chain(ctx, store.ID{Message: id})
	return m, err
}

// attaches reports whether the files of a message are those that it refers to. The arguments
// of a call may be a file without a reference.
func attaches(parts []llms.Part, files []store.PayloadID) bool {
	refs := store.Refs(parts)
	return !slices.ContainsFunc(refs, func(r llms.Ref) bool { return !slices.Contains(files, store.PayloadID(r.ID)) }) &&
		(slices.ContainsFunc(parts, func(p llms.Part) bool { return p.Call != nil }) ||
			!slices.ContainsFunc(files, func(f store.PayloadID) bool {
				return !slices.ContainsFunc(refs, func(r llms.Ref) bool { return r.ID == string(f) })
			}))
}

// maxChain bounds the way up, which is as long as the DAG is deep.
const maxChain = 64

// chain leads from a node up to the summary in the view.
func (d *description) chain(ctx context.Context, n store.ID) ([]store.SummaryID, error) {
	ids := []store.SummaryID{}
	for len(ids) < maxChain {
		over, ok, err := d.covering(ctx, n)
		if err != nil || !ok {
			return ids, err
		}
		ids = append(ids, over.ID)
		if over.Damaged {
			d.damagedAbove(over.ID)
			return ids, nil // its sources may be others, also itself
		}
		n = store.ID{Summary: over.ID}
	}
	return ids, nil
}

// damagedAbove marks a description that names a damaged summary: the node may be no source of it.
func (d *description) damagedAbove(id store.SummaryID) {
	d.answer.Damaged = true
	d.answer.Notes = append(d.answer.Notes, "damaged: a summary above it is not what was written: "+string(id))
}

var flagWords = []struct {
	flag store.Flag
	word string
}{
	{store.FlagEcho, "echo"}, {store.FlagHostSummary, "hostSummary"}, {store.FlagSynthetic, "synthetic"}, {store.FlagDuplicate, "duplicate"},
	{store.FlagUnknown, "unknown"}, {store.FlagRedacted, "redacted"}, {store.FlagMasked, "masked"}, {store.FlagHidden, "hidden"},
}

func flagNames(f store.Flag) []string {
	var names []string
	for _, w := range flagWords {
		if f&w.flag != 0 {
			names = append(names, w.word)
		}
	}
	return names
}
