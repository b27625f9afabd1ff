package teamsync

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Verified is the outcome of comparing this machine with the server.
type Verified struct {
	Conversations int   `json:"conversations"`
	Messages      int64 `json:"messages"`
	// ErasedThere counts messages that were erased on the server and not here.
	ErasedThere int `json:"erasedThere,omitempty"`
	// Differ are the conversations whose digests do not agree.
	Differ []store.ConversationID `json:"differ,omitempty"`
}

// Verify compares the digests of everything that was pushed, from both records.
func (p *Pusher) Verify(ctx context.Context) (v Verified, err error) {
	id, err := p.identity(ctx, false)
	if err != nil {
		return v, err
	}
	all, err := p.Store.Conversations(ctx, store.ConversationQuery{Erased: true})
	if err != nil {
		return v, err
	}
	for _, c := range all {
		var row local
		version, err := p.load(ctx, p.rowOf(c.ID), &row)
		if err != nil {
			return v, err
		}
		if version == 0 || row.Through == 0 {
			continue
		}
		here, there, err := p.digests(ctx, Source{id.ID, c.Key, c.Segment}, c, row)
		if err != nil {
			return v, err
		}
		v.Conversations++
		v.Messages += here.Count()
		v.ErasedThere += len(there.Erased)
		if differ(here, there) {
			v.Differ = append(v.Differ, c.ID)
		}
	}
	return v, nil
}

// differ reports whether the server has other messages, or another number of them.
func differ(here *Digest, there VerifyAnswer) bool {
	return here.String() != there.Digest || here.Count() != there.Messages
}

// verify fails if the server's messages of a conversation are not those that were pushed.
func (p *Pusher) verify(ctx context.Context, src Source, c store.Conversation, row local) error {
	here, there, err := p.digests(ctx, src, c, row)
	if err == nil && differ(here, there) {
		err = fmt.Errorf("messages %w: the server has %d of %d, or others: the digest is %.12s here and %.12s there", errUnproved, there.Messages, here.Count(), here, there.Digest)
	}
	return err
}

// digests returns the digest of a conversation on both sides.
func (p *Pusher) digests(ctx context.Context, src Source, c store.Conversation, row local) (here *Digest, there VerifyAnswer, err error) {
	except, err := p.except(ctx, c, row.Through)
	if err != nil {
		return nil, there, err
	}
	if there, err = p.compare(ctx, VerifyRequest{src, except}, row.Through); err != nil {
		return nil, there, err
	}
	missing := map[int64]bool{}
	for _, seq := range slices.Concat(there.Erased, there.Held, except) {
		missing[seq] = true
	}
	masked := map[int64]string{}
	for _, after := range row.Masked {
		if _, err := p.load(ctx, p.maskedRow(c.ID, after), &masked); err != nil {
			return nil, there, err
		}
	}
	here = NewDigest()
	for m, err := range p.Store.Messages(ctx, store.MessageQuery{Conversation: c.ID, Before: row.Through + 1, NoRaw: true}) {
		if err != nil {
			return nil, there, err
		}
		if missing[m.Seq] {
			continue
		}
		sum := m.SHA256
		if text, ok := masked[m.Seq]; ok {
			b, err := hex.DecodeString(text)
			if err != nil || len(b) != len(sum) {
				return nil, there, fmt.Errorf("the hash of message %d is %w", m.Seq, store.ErrDamaged)
			}
			copy(sum[:], b)
		}
		here.Add(m.Seq, m.Body.Time, m.Body.Role, sum)
	}
	return here, there, nil
}
