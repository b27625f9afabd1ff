package teamsync

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
)

// sending is the push of one conversation.
type sending struct {
	*Pusher
	id      identity
	src     Source
	c       store.Conversation
	row     local
	through int64 // how far the server has it
	proved  bool  // false if a receipt did not arrive
	behind  int   // how often the server was elsewhere than thought
	counted bool  // the report counts the conversation
}

// note writes the row of the conversation.
func (s *sending) note(ctx context.Context) (err error) {
	s.row.version, err = s.save(ctx, s.rowOf(s.c.ID), s.row, s.row.version)
	return err
}

// next returns the next batch. What must be known of it if its receipt gets lost is written
// first: the hashes of changed records, and for an erasure that it was sent. The batch is
// empty if the conversation has nothing for the server.
func (s *sending) next(ctx context.Context) (b Batch, masked map[int64]string, err error) {
	if b, masked, err = s.batch(ctx, s.id, s.src, s.c, s.through); err != nil {
		return b, nil, err
	}
	if len(b.Messages) == 0 && s.through == 0 {
		s.row.Seen = s.c.Messages
		return b, nil, s.note(ctx)
	}
	if len(masked) > 0 {
		if err := s.keepMasked(ctx, s.c.ID, s.through, masked, &s.row); err != nil {
			return b, nil, err
		}
	}
	if s.row.version == 0 || s.Peer != "" {
		s.row.Sent = b.Through
		err = s.note(ctx)
	}
	return b, masked, err
}

// send sends a batch and checks the receipt. If the server is elsewhere, because the batch
// is there or another process pushes too, it is asked where, and stored is false.
func (s *sending) send(ctx context.Context, b Batch) (receipt Receipt, stored bool, err error) {
	receipt, err = s.push(ctx, b)
	if refusedWith(err, http.StatusConflict) && s.behind < 5 {
		s.behind++
		s.proved = false
		a, err := s.status(ctx, s.src)
		if err == nil {
			err = s.same(ctx, s.id, s.c, a.Statuses[0])
		}
		if err == nil {
			s.through = a.Statuses[0].Through
		}
		return receipt, false, err
	}
	if err != nil {
		return receipt, false, err
	}
	if want := b.digest(append(receipt.Forgotten, receipt.Held...)); receipt.Digest != want {
		return receipt, false, fmt.Errorf("messages %d to %d %w: their digest is %s, and the server's %s", s.through+1, b.Through, errUnproved, want[:12], prose.Clip(receipt.Digest, 12))
	}
	return receipt, true, nil
}

// commit writes down that the server has a batch, and reports it.
func (s *sending) commit(ctx context.Context, b Batch, receipt Receipt, masked int, r *Report) error {
	s.through, s.row.Through = b.Through, b.Through
	if err := s.note(ctx); err != nil {
		return err
	}
	before := r.Messages
	if r.count(b, receipt, masked); r.Messages > before && !s.counted {
		s.counted = true
		r.Conversations++
	}
	if s.Pushed != nil {
		s.Pushed(*r)
	}
	return nil
}

// pushOne pushes the new messages of a conversation, and its erasures.
func (p *Pusher) pushOne(ctx context.Context, id identity, src Source, one candidate, at Status, r *Report) (err error) {
	c := one.Conversation
	s := sending{Pusher: p, id: id, src: src, c: c, through: at.Through}
	if s.row.version, err = p.load(ctx, p.rowOf(c.ID), &s.row); err != nil {
		return err
	}
	if err := p.same(ctx, id, c, at); err != nil {
		return err
	}
	s.proved = s.row.Through >= at.Through
	one.push = one.push && (s.through > 0 || s.row.Seen < c.Messages)
	var entered error
	if one.push && s.through < c.Messages {
		entered = p.checkDirectories(ctx, c, s.through)
		if one.push = entered == nil; entered != nil && !errors.Is(entered, errEntered) {
			return entered
		}
	}
	for one.push && s.through < c.Messages {
		b, masked, err := s.next(ctx)
		if errors.Is(err, errEntered) { // with a message that is newer than the check
			entered = err
			break
		}
		if err != nil || len(b.Messages) == 0 && s.through == 0 {
			return err
		}
		receipt, stored, err := s.send(ctx, b)
		if err != nil {
			return err
		}
		if !stored {
			continue
		}
		if err := s.commit(ctx, b, receipt, len(masked), r); err != nil {
			return err
		}
	}
	if gone(c) != s.row.Erased && s.through > 0 {
		err = p.erase(ctx, src, one, s.through, &s.row, r)
	}
	if err == nil {
		err = p.forget(ctx, src, c, at, &s.row, r)
	}
	if err != nil {
		return err
	}
	if !s.proved && gone(c) != allGone {
		s.row.Through = max(s.row.Through, s.through)
		if err := p.verify(ctx, src, c, s.row); err != nil {
			return err
		}
		err = s.note(ctx)
	}
	return errors.Join(err, entered)
}
