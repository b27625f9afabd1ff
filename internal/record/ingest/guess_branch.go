package ingest

import (
	"context"
	"errors"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
)

// claim says whether a message must be active once a guessed branch is.
type claim struct {
	id     store.MessageID
	active bool
}

// claims bounds how many claims are checked: a wrong guess that passes shows a
// branch that differs far from its ends, and loses nothing.
const claims = 256

// errWrongBranch rolls back a wrong guess.
var errWrongBranch = errors.New("the branch is not the one that the history follows")

// guessBranch checks whether the end of the history, if it has no ids, is on a
// kept branch that begins where the history leaves the active one. Otherwise a
// host that switches between two branches would store them again each time.
func (in *Ingester) guessBranch(ctx context.Context, p *plan) error {
	last := p.last()
	var h []hash
	for i := last + 1; i < len(p.history) && p.history[i].ID == "" && last >= 0; i++ {
		h = append(h, p.history[i].identity())
	}
	if len(h) == 0 {
		return nil
	}
	leaf, err := p.leaf(ctx)
	if err != nil {
		return err
	}
	later, err := in.after(ctx, p.conv.ID, leaf)
	if err != nil || len(later) == 0 {
		return err
	}
	active, err := p.branch.all(ctx)
	if err != nil {
		return err
	}
	at := slices.Index(active, leaf)
	if at < 0 {
		return nil
	}
	on, err := p.branch.set(ctx)
	if err != nil {
		return err
	}
	later = slices.DeleteFunc(later, func(m store.Message) bool { return on[m.ID] })
	off, err := in.identified(ctx, nil, later)
	if err != nil {
		return err
	}
	run := alongBranch(off, h)
	if len(run) == 0 {
		return nil
	}
	for i, n := range run {
		p.known[last+1+i] = &off[n]
	}
	p.proof = append(p.proof, claim{leaf, true})
	for i := range off[:run[len(run)-1]] {
		p.proof = append(p.proof, claim{off[i].id, slices.Contains(run, i)})
	}
	for _, id := range active[at+1:] {
		p.proof = append(p.proof, claim{id, false})
	}
	return nil
}

// leaf returns the stored message that the known part of the history ends with.
func (p *plan) leaf(ctx context.Context) (store.MessageID, error) {
	last := p.last()
	if last >= p.from {
		return p.known[last].id, nil
	}
	active, err := p.branch.all(ctx) // the history covers the whole branch
	if err != nil || len(active) == 0 {
		return 0, err
	}
	return active[len(active)-1], nil
}

// after reads the messages of a conversation that were stored after a message
// and are not hidden.
func (in *Ingester) after(ctx context.Context, id store.ConversationID, leaf store.MessageID) ([]store.Message, error) {
	from, err := collect(in.store.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{leaf}}))
	if err != nil {
		return nil, err
	}
	q := store.MessageQuery{Conversation: id}
	if from[0].Conversation == id {
		q.After = from[0].Seq
	}
	all, err := collect(in.store.Messages(ctx, q))
	return slices.DeleteFunc(all, func(m store.Message) bool { return m.Flags&store.FlagHidden != 0 }), err
}

// prove checks a guessed branch in the transaction that made it active.
func (p *plan) prove(ctx context.Context, w store.Writer) error {
	for _, c := range p.proof[:min(len(p.proof), claims)] {
		active, err := w.Active(ctx, c.id)
		if err != nil {
			return err
		}
		if active != c.active {
			return errWrongBranch
		}
	}
	return nil
}
