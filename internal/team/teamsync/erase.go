package teamsync

import (
	"context"

	"github.com/lossless-context/lcm/internal/record/store"
)

// erase has the server erase the messages that were erased here.
func (p *Pusher) erase(ctx context.Context, src Source, one candidate, through int64, row *local, r *Report) error {
	c := one.Conversation
	q := EraseRequest{Source: src, All: gone(c) == allGone}
	if q.All { // there is no number here any more; a receipt may have got lost
		through = min(through, row.Through+BatchMessages)
	}
	seqs, err := p.erased(ctx, c, through)
	if err != nil || len(seqs) == 0 {
		return err
	}
	if !one.erase {
		r.EraseDenied += len(seqs)
		return nil
	}
	if !q.All {
		q.Seqs = seqs
	}
	n, err := p.Client.erase(ctx, q, int64(len(seqs)))
	if err != nil {
		return err
	}
	r.Erased += n
	row.Erased = gone(c)
	row.version, err = p.save(ctx, p.rowOf(c.ID), row, row.version)
	return err
}

// gone counts the messages of a conversation that were erased here; allGone stands for
// the whole conversation, whose numbers go too.
func gone(c store.Conversation) int64 {
	if !c.ErasedAt.IsZero() {
		return allGone
	}
	return c.Erased
}

const allGone = -1

// erased lists the numbers of the messages, up to one, that were erased here.
func (p *Pusher) erased(ctx context.Context, c store.Conversation, through int64) (seqs []int64, err error) {
	if gone(c) == allGone {
		for seq := int64(1); seq <= through; seq++ {
			seqs = append(seqs, seq)
		}
		return seqs, nil
	}
	if c.Erased == 0 {
		return nil, nil
	}
	for m, err := range p.Store.Messages(ctx, store.MessageQuery{Conversation: c.ID, Before: through + 1, Erased: true, NoRaw: true}) {
		if err != nil {
			return nil, err
		}
		if m.Flags&store.FlagErased != 0 {
			seqs = append(seqs, m.Seq)
		}
	}
	return seqs, nil
}
