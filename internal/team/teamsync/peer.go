package teamsync

import (
	"context"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Stays reports whether a conversation must not leave this machine.
func (p *Pusher) Stays(c store.Conversation) bool { return p.stays(c) }

// SentTo returns the number of the last message of a conversation that was sent to a peer.
func SentTo(ctx context.Context, s store.Store, peer string, id store.ConversationID) (int64, error) {
	p := Pusher{Store: s, Peer: peer}
	var row local
	_, err := p.load(ctx, p.rowOf(id), &row)
	return max(row.Sent, row.Through), err
}

// except lists the messages of a conversation, up to a number, that a comparison leaves
// out: those erased here and those received.
func (p *Pusher) except(ctx context.Context, c store.Conversation, through int64) (seqs []int64, err error) {
	if seqs, err = p.erased(ctx, c, through); err != nil || len(p.Received) == 0 {
		return seqs, err
	}
	for m, err := range p.Store.Messages(ctx, store.MessageQuery{Conversation: c.ID, Before: through + 1, NoRaw: true}) {
		if err != nil {
			return nil, err
		}
		if p.Received[m.ID] {
			seqs = append(seqs, m.Seq)
		}
	}
	return seqs, nil
}

// forget erases the messages of a conversation that were pushed and then erased there. What
// was never sent, came from there or is private now stays, whatever the other machine says.
func (p *Pusher) forget(ctx context.Context, src Source, c store.Conversation, at Status, row *local, r *Report) error {
	if p.Forget == nil || at.Erased == row.There || gone(c) == allGone || p.stays(c) {
		return nil
	}
	sent := min(at.Through, max(row.Sent, row.Through))
	except, err := p.except(ctx, c, sent)
	if err != nil {
		return err
	}
	there, err := p.compare(ctx, VerifyRequest{src, except}, at.Through)
	if err != nil {
		return err
	}
	slices.Sort(there.Erased)
	order := store.Erasure{Cause: "forget", Unfinished: true}
	for m, err := range p.Store.Messages(ctx, store.MessageQuery{Conversation: c.ID, Before: sent + 1, NoRaw: true}) {
		if err != nil {
			return err
		}
		if _, erased := slices.BinarySearch(there.Erased, m.Seq); erased && !p.Received[m.ID] {
			order.Messages = append(order.Messages, m.ID)
		}
	}
	if n := int64(len(order.Messages)); n > 0 {
		if c, err = p.Store.Conversation(ctx, c.ID); err != nil {
			return err
		}
		if n == c.Messages-c.Erased { // so that the title goes too
			order.Messages, order.Conversations = nil, []store.ConversationID{c.ID}
		}
		if err := p.Forget(ctx, order); err != nil {
			return err
		}
		r.Forgot += n
	}
	row.There = at.Erased
	row.version, err = p.save(ctx, p.rowOf(c.ID), row, row.version)
	return err
}
