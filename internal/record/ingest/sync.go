package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/record"
)

// Synced is the result of Sync.
type Synced = record.SyncResult

// Sync stores the new messages of a whole history, as hosts send it every turn.
// A message with an id is new if the id is unknown, or known with another
// record. Messages without ids are aligned with the end of the stored ones:
//
//   - the history continues the stored messages, all of them or the newest: the
//     messages after the match are new;
//   - it shares a beginning and then differs: the conversation is rewound to the
//     last shared message, which a message with an id may have on a branch that was
//     left before, and the rest is new;
//   - it shares nothing: all of it is new.
//
// Several processes may sync one conversation. If another process stores
// something between the comparison and the transaction, Sync compares again; it
// returns [store.ErrStale] after many attempts.
func (in *Ingester) Sync(ctx context.Context, id store.ConversationID, given []Input) (Synced, error) {
	history, err := in.clean(given)
	if err != nil {
		return Synced{}, err
	}
	once := distinct(history)
	inherited := true
	for range attempts {
		var done Synced
		done, err = in.sync(ctx, id, once, inherited)
		done.Existing += len(history) - len(once)
		switch {
		case err == nil:
			return done, nil
		case errors.Is(err, store.ErrOffBranch) && inherited:
			inherited = false
		case !errors.Is(err, store.ErrStale):
			return Synced{}, err
		}
	}
	return Synced{}, &hint.Error{
		Err:  fmt.Errorf("sync %d messages: %w", len(history), err),
		Hint: "others keep writing to this conversation: nothing of this history was stored, send it again",
	}
}

// attempts is how often a history is compared again because other processes
// wrote to the conversation. Each time one of them made progress.
const attempts = 32

// sync compares a history with the conversation, and stores the new messages if
// the conversation has not changed since.
func (in *Ingester) sync(ctx context.Context, id store.ConversationID, history []input, inherited bool) (Synced, error) {
	conv, err := in.store.Conversation(ctx, id)
	if err != nil {
		return Synced{}, err
	}
	if err := CheckIgnored(in.privacy, conv.Key, conv.Project); err != nil {
		return Synced{}, err
	}
	said := len(history)
	if history, err = in.remembered(ctx, conv, history); err != nil {
		return Synced{}, err
	}
	p, err := in.plan(ctx, conv, history, inherited)
	if err != nil {
		return Synced{}, err
	}
	outside, fresh, done := p.sort()
	done.Existing += said - len(history)
	back, err := p.back(ctx)
	if err != nil {
		return Synced{}, err
	}
	if len(outside) == 0 && len(fresh) == 0 && back == 0 {
		return done, nil
	}
	hidden, err := in.prepareAll(ctx, p.conv.ID, outside)
	if err != nil {
		return Synced{}, err
	}
	shown, err := in.prepareAll(ctx, p.conv.ID, fresh)
	if err != nil {
		return Synced{}, err
	}
	planned := done
	err = in.store.Update(ctx, id, func(w store.Writer) error {
		done = planned // the store may run this again
		if moved(conv, w.Conversation()) {
			return store.ErrStale
		}
		if err := writeInto(ctx, w, hidden, &done); err != nil {
			return err
		}
		if back != 0 {
			b, err := w.Rewind(ctx, back, "history differs")
			if err != nil {
				return err
			}
			done.Rewound = &b
		}
		return writeInto(ctx, w, shown, &done)
	})
	return done, err
}

// moved reports whether messages were added to a conversation or its view was
// changed since it was read.
func moved(was, is store.Conversation) bool {
	return was.Head != is.Head || was.ViewItems != is.ViewItems || was.ViewTokens != is.ViewTokens
}

// sort separates the new messages into those kept outside the view and those
// added to it.
func (p *plan) sort() (outside, fresh []input, done Synced) {
	first, last := p.first(), p.last()
	for i, m := range p.history {
		if p.known[i] != nil {
			done.Existing++
			continue
		}
		if p.doubt[i] {
			m.Flags |= store.FlagDuplicate
		}
		if m.ID != "" && i < last {
			done.Late++
		}
		switch {
		case i > last:
			fresh = append(fresh, m)
		case m.ID != "" && i > first:
			fresh = append(fresh, m)
		default:
			if i > first {
				m.Flags |= store.FlagDuplicate
			}
			if m.ID == "" {
				m.ID = p.loose[i]
			}
			m.Flags |= store.FlagHidden
			outside = append(outside, m)
			done.Loose++
		}
	}
	return outside, fresh, done
}

// back returns the message to rewind to before adding the new ones, perhaps on another
// branch, or 0. A history that is only shorter than the stored one changes nothing.
func (p *plan) back(ctx context.Context) (store.MessageID, error) {
	last := p.last()
	if last < 0 {
		return 0, nil
	}
	leaf := p.known[last].id
	if leaf == p.branch.newest() {
		return 0, nil
	}
	active, err := p.branch.all(ctx)
	if err != nil {
		return 0, err
	}
	named := p.named()
	left := false // the branch has a message after leaf that the history lacks
	for i := len(active) - 1; i >= 0; i-- {
		if active[i] == leaf {
			if left && last < len(p.history)-1 {
				return leaf, nil
			}
			return 0, nil
		}
		left = left || !named[active[i]]
	}
	return leaf, nil
}

// writeInto stores prepared messages in the transaction of w, and adds them to done.
func writeInto(ctx context.Context, w store.Writer, ready []prepared, done *Synced) error {
	all, err := write(ctx, w, ready)
	if err != nil {
		return err
	}
	done.Conversation = w.Conversation()
	for _, a := range all {
		if a.Existed {
			done.Existing++
		} else {
			done.Stored = append(done.Stored, a)
		}
	}
	return nil
}
