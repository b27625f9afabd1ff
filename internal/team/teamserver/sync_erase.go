package teamserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamsync"
)

// erase erases messages that a source pushed before.
func (c *client) erase(ctx context.Context, q teamsync.EraseRequest) (any, error) {
	p, err := c.progress(ctx, q.Source)
	if err != nil {
		return nil, err
	}
	all, err := c.pushed(ctx, p)
	if err != nil {
		return nil, err
	}
	wanted := map[int64]bool{}
	for _, seq := range q.Seqs {
		wanted[seq] = true
	}
	var ids []store.MessageID
	for _, s := range all {
		if q.All || wanted[s.seq] {
			ids = append(ids, s.id)
		}
	}
	order, left, err := c.order(ctx, ids)
	if err != nil || left == 0 {
		return teamsync.EraseAnswer{}, err
	}
	if _, err := c.store.Weigh(ctx, order); err != nil { // the scope of the token
		return nil, err
	}
	audit := access.Audit{State: c.config.Store, Clock: c.config.Clock}
	who := c.token.User + " (token " + c.token.ID + ")"
	if c.machine != "" {
		who = c.peer.Name + " (machine " + c.peer.Machine + ")"
	}
	err = audit.Add(ctx, access.Entry{Who: who, Action: "erase", Detail: "sync: " + prose.Count(left, "message", "messages")})
	if err != nil {
		return nil, err
	}
	order.Unfinished = c.machine != "" // the exchange ends with it
	// A summary in a fork outside of the scope must lose its text too.
	done, err := c.config.Engine.Erase(ctx, order, nil)
	c.metrics.add("lcm_messages_erased_total", float64(done.Messages))
	return teamsync.EraseAnswer{Messages: done.Messages}, err
}

// each calls fn with messages by their ids. Of an erased conversation not even the numbers
// are left: its messages are erased too.
func (c *client) each(ctx context.Context, ids []store.MessageID, fn func(i int, m store.Message, erased bool) error) error {
	next := 0
	read := func(to int) error {
		for m, err := range c.store.Messages(ctx, store.MessageQuery{IDs: ids[next:to], Erased: true, NoRaw: true}) {
			if err == nil {
				err = fn(next, m, m.Flags&store.FlagErased != 0)
			}
			if err != nil {
				return err
			}
			next++
		}
		return nil
	}
	alone := 0 // up to here one by one, because one of them is missing
	for next < len(ids) {
		size := 1000
		if next < alone {
			size = 1
		}
		end := min(next+size, len(ids))
		err := read(end)
		switch {
		case errors.Is(err, store.ErrNotFound) && size > 1:
			alone = end
		case errors.Is(err, store.ErrNotFound):
			if err := fn(next, store.Message{ID: ids[next]}, true); err != nil {
				return err
			}
			next++
		case err != nil:
			return err
		}
	}
	return nil
}

// order returns the order to erase the messages that are still there, and how many they
// are. Where no other message is left, it is a whole conversation, so that its title goes
// too.
func (c *client) order(ctx context.Context, ids []store.MessageID) (order store.Erasure, n int, err error) {
	order.Cause = "forget"
	left := map[store.ConversationID]int64{}
	err = c.each(ctx, ids, func(_ int, m store.Message, erased bool) error {
		if !erased {
			order.Messages = append(order.Messages, m.ID)
			left[m.Conversation]++
		}
		return nil
	})
	if n = len(order.Messages); err != nil {
		return order, n, err
	}
	if len(left) == 1 {
		for id, here := range left {
			conv, err := c.store.Conversation(ctx, id)
			if err != nil {
				return order, n, err
			}
			if conv.Messages-conv.Erased == here {
				order.Messages, order.Conversations = nil, []store.ConversationID{id}
			}
		}
	}
	return order, n, nil
}

// verify digests all messages of a source that are here, from the record.
func (c *client) verify(ctx context.Context, q teamsync.VerifyRequest) (any, error) {
	except, held := map[int64]bool{}, map[int64]bool{}
	for _, seq := range q.Except {
		except[seq] = true
	}
	p, err := c.progress(ctx, q.Source)
	if err != nil {
		return nil, err
	}
	all, err := c.pushed(ctx, p)
	if err != nil {
		return nil, err
	}
	a := teamsync.VerifyAnswer{Erased: p.Forgotten}
	if c.machine != "" {
		a.Erased, a.Held = nil, p.Forgotten
		for _, seq := range p.Forgotten {
			held[seq] = true
		}
	}
	digest := teamsync.NewDigest()
	ids := make([]store.MessageID, len(all))
	for i, s := range all {
		ids[i] = s.id
	}
	err = c.each(ctx, ids, func(i int, m store.Message, erased bool) error {
		switch {
		case erased && !except[all[i].seq]:
			a.Erased = append(a.Erased, all[i].seq)
		case erased, except[all[i].seq], held[all[i].seq]:
		case m.Damaged:
			return fmt.Errorf("%s: %w", m.ID, store.ErrDamaged)
		default:
			digest.Add(all[i].seq, m.Body.Time, m.Body.Role, m.SHA256)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	a.Messages, a.Digest = digest.Count(), digest.String()
	return a, nil
}
