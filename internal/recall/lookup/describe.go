package lookup

import (
	"cmp"
	"context"
	"encoding/hex"
	"math"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// ParseID reads an id, bare or in a pasted reference.
func ParseID(text string) (store.ID, error) {
	id, err := store.ParseID(text)
	if err != nil {
		err = refuse("lcm_grep finds ids", "%w", err)
	}
	return id, err
}

// Describe shows one thing whole, or a page of it.
func (s *Service) Describe(ctx context.Context, r recall.DescribeRequest) (_ recall.DescribeAnswer, err error) {
	ctx, span := tracing.Start(ctx, "recall.describe")
	defer func() { span.End(err) }()
	switch {
	case r.ID == store.ID{}:
		return recall.DescribeAnswer{}, refuse("lcm_grep finds ids", "no id was given")
	case r.MaxTokens < 0:
		return recall.DescribeAnswer{}, refuse("leave it out for no bound", "maxTokens cannot be negative")
	}
	d := description{Service: s, answer: recall.DescribeAnswer{ID: r.ID}}
	if d.answer.Scope, err = s.scopes.reach(ctx, r.Where); err != nil {
		return recall.DescribeAnswer{}, err
	}
	st := step{ID: r.ID}
	switch {
	case r.ID.Summary != "":
		err = d.summary(ctx, r.ID.Summary)
	case r.ID.Payload != "":
		st.holder, err = d.file(ctx, r.ID.Payload)
	default:
		st.holder, err = d.message(ctx, r.ID.Message)
	}
	if err == nil {
		err = d.content(ctx, r, st)
	}
	if err == nil && d.answer.ConversationID != 0 {
		err = nameMachine(ctx, s.store, &d.answer)
	}
	if err != nil {
		return recall.DescribeAnswer{}, err
	}
	return d.answer, nil
}

// description is an answer in the making.
type description struct {
	*Service
	answer recall.DescribeAnswer
}

// content fills in a page of the content, as Expand does.
func (d *description) content(ctx context.Context, r recall.DescribeRequest, st step) error {
	a := &d.answer
	if r.Lines != "" || r.Pattern != "" {
		return d.lines(ctx, r, st)
	}
	digest := question(d.store, "content", a.ID, r.ConversationID, r.AllConversations, r.Current)
	at, err := unseal[spot](r.Cursor, digest)
	if err != nil {
		return err
	}
	p := &page{Service: d.Service, answer: &recall.ExpandAnswer{}, left: cmp.Or(r.MaxTokens, math.MaxInt), at: at, binary: true}
	more, err := p.fill(ctx, d.descend(ctx, []step{st}, nil, 0, false))
	if err != nil {
		return err
	}
	if len(p.answer.Pieces) == 0 {
		return refuse(cursorHint, "the cursor points behind the end")
	}
	piece := p.answer.Pieces[0]
	a.Content, a.Offset, a.Truncated, a.Damaged = piece.Text, int64(piece.Offset), piece.Offset > 0 || more, a.Damaged || piece.Damaged
	if a.MessageDetail != nil {
		a.ContentSize = int64(piece.Size)
	}
	if more {
		a.NextCursor = seal(digest, p.at)
		a.Notes = append(a.Notes, p.rest())
	}
	return nil
}

// maxHolders bounds how many messages of a file are named.
const maxHolders = 20

// file describes a file, and returns the newest message that it belongs to.
func (d *description) file(ctx context.Context, id store.PayloadID) (newest store.Message, err error) {
	a := &d.answer
	p, err := d.store.Payload(ctx, id)
	if err != nil {
		return newest, lookup(string(id), err)
	}
	holders, err := d.store.Holders(ctx, id, a.Scope.ConversationIDs, maxHolders)
	if err != nil {
		return newest, err
	}
	if newest, err = d.holder(ctx, a.Scope, id); err != nil {
		return newest, err
	}
	a.FileDetail = &recall.FileDetail{
		FileName: p.Name, MIMEType: p.MIME, FileKind: p.Kind, ExplorationSummary: p.Summary,
		StoragePath: "lcm://file/" + string(p.ID), OriginalPath: p.Path, MessageIDs: append([]store.MessageID{}, holders...),
	}
	a.Type, a.ConversationID, a.CreatedAt = "file", newest.Conversation, p.Created
	a.TokenCount, a.ByteSize, a.SHA256, a.Damaged = p.Tokens, p.Size, hexSum(p.SHA256), p.Damaged
	return newest, nil
}

// nameMachine notes the agent, the user and the machine of a session that was pushed to
// a team's server.
func nameMachine(ctx context.Context, from store.Reader, a *recall.DescribeAnswer) error {
	c, err := from.Conversation(ctx, a.ConversationID)
	if err == nil && strings.Contains(c.Agent, "@") {
		a.Notes = append(a.Notes, "from a session of "+prose.OneLine(safetext.Line(c.Agent)))
	}
	return err
}

func hexSum(sum [32]byte) string { return hex.EncodeToString(sum[:]) }
