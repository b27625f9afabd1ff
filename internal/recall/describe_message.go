package recall

import (
	"context"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// MessageDetail has the details that only a message has. The answer's Content is its
// text, externalised content in its place; ByteSize and SHA256 are those of
// the record as it arrived.
type MessageDetail struct {
	Role     llms.Role   `json:"role"`
	Seq      int64       `json:"seq"` // its place in the conversation
	NativeID string      `json:"nativeId,omitempty"`
	Format   llms.Format `json:"format"`
	Flags    []string    `json:"flags,omitempty"`
	StoredAt time.Time   `json:"storedAt"`
	// ContentSize is the bytes of the whole content.
	ContentSize int64      `json:"contentSize"`
	Parts       []PartInfo `json:"parts"`
	Previous    *Neighbour `json:"previous,omitempty"`
	Next        *Neighbour `json:"next,omitempty"`
	// CoveringIDs leads from the summary that covers the message up to the one
	// in the view; a message in the view has none.
	CoveringIDs []string `json:"coveringIds"`
}

// PartInfo describes a part of a message.
type PartInfo struct {
	Kind     llms.PartKind `json:"kind"`
	Bytes    int           `json:"bytes"`
	Tool     string        `json:"tool,omitempty"`
	CallID   string        `json:"callId,omitempty"`
	IsError  bool          `json:"isError,omitempty"`
	FileID   string        `json:"fileId,omitempty"` // where the content is kept
	FileName string        `json:"name,omitempty"`
	MIMEType string        `json:"mime,omitempty"`
}

func (d *description) message(ctx context.Context, id store.MessageID) error {
	r, a := d.request, &d.answer
	m, err := d.Service.message(ctx, id)
	if err != nil {
		return lookup(r.ID, err)
	}
	if err := a.Scope.within(id.String(), m.Conversation); err != nil {
		return err
	}
	text, damaged, err := d.original(ctx, m)
	if err != nil {
		return err
	}
	a.ID, a.Type, a.ConversationID, a.CreatedAt = m.ID.String(), "message", m.Conversation, m.Body.Time
	a.TokenCount, a.ByteSize, a.SHA256, a.Damaged = m.Tokens, m.Size, hexSum(m.SHA256), damaged
	a.MessageDetail = &MessageDetail{
		Role: m.Body.Role, Seq: m.Seq, NativeID: m.Native, Format: m.Format, Flags: flagNames(m.Flags), StoredAt: m.Stored,
		ContentSize: int64(len(text)), Parts: partInfos(m.Body.Parts),
	}
	attached, err := d.store.Attached(ctx, id)
	if err != nil {
		return err
	}
	a.FileIDs = names(attached)
	around, err := d.around(ctx, m, 1)
	if err != nil {
		return err
	}
	if len(around.Before) > 0 {
		a.Previous = &around.Before[0]
	}
	if len(around.After) > 0 {
		a.MessageDetail.Next = &around.After[0]
	}
	if a.CoveringIDs, err = d.chain(ctx, store.Node{Message: id}); err != nil {
		return err
	}
	return d.cut(window{from: r.Offset, to: int64(len(text)), read: func(from, to int64) ([]byte, error) { return text[from:to], nil }})
}

// maxChain bounds the way up, which is as long as the DAG is deep.
const maxChain = 64

// chain leads from a node up to the summary in the view.
func (d *description) chain(ctx context.Context, n store.Node) ([]string, error) {
	ids := []string{}
	for len(ids) < maxChain {
		over, ok, err := d.covering(ctx, n)
		if err != nil || !ok {
			return ids, err
		}
		ids = append(ids, string(over.ID))
		n = store.Node{Summary: over.ID}
	}
	return ids, nil
}

func partInfos(parts []llms.Part) []PartInfo {
	infos := []PartInfo{}
	for _, p := range parts {
		info := PartInfo{Kind: p.Kind, Bytes: len(p.Text)}
		switch {
		case p.Call != nil:
			info.Tool, info.CallID, info.Bytes = p.Call.Name, p.Call.ID, len(p.Call.Arguments)
		case p.Result != nil:
			info.Tool, info.CallID, info.IsError = p.Result.Name, p.Result.CallID, p.Result.IsError
			for _, o := range partInfos(p.Result.Output) {
				info.Bytes += o.Bytes
				if info.FileID == "" {
					info.FileID = o.FileID
				}
			}
		case p.Blob != nil:
			info.FileName, info.MIMEType, info.Bytes = p.Blob.Name, p.Blob.MIME, len(p.Blob.Data)
		case p.Kind == llms.PartOther:
			info.Bytes = len(p.Extra)
		}
		if p.Ref != nil {
			info.FileID, info.Bytes = p.Ref.ID, int(p.Ref.Bytes)
		}
		infos = append(infos, info)
	}
	return infos
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
