package teamsync

import (
	"context"
	"slices"

	"github.com/lossless-context/lcm/internal/store"
)

// erase has the server erase the messages that were erased here.
func (p *Pusher) erase(ctx context.Context, src Source, one candidate, through int64, row *local, r *Report) error {
	c := one.Conversation
	seqs, err := p.erased(ctx, c, through)
	if err != nil || len(seqs) == 0 {
		return err
	}
	if !one.erase {
		if one.covered { // somebody else may have erased some of them there
			var there VerifyAnswer
			if err := p.Post(ctx, VerifyPath, VerifyRequest{Source: src}, &there); err != nil {
				return err
			}
			seqs = slices.DeleteFunc(seqs, func(seq int64) bool { return slices.Contains(there.Erased, seq) })
		}
		r.EraseDenied += len(seqs)
		return nil
	}
	var a EraseAnswer
	if err := p.Post(ctx, ErasePath, EraseRequest{src, seqs}, &a); err != nil {
		return err
	}
	r.Erased += a.Messages
	row.Erased = gone(c)
	row.version, err = p.save(ctx, rowOf(c.ID), row, row.version)
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
