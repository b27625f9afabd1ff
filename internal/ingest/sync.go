package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/store"
)

// Synced says what Sync did.
type Synced struct {
	Stored   []store.Appended // what was new, in order
	Existing int              // how many messages were there already, or had been erased
	// Rewound is set if the history leaves the stored one at an earlier
	// message, or goes back to a branch that was left: what came after that
	// message is kept as a branch.
	Rewound *store.Branch
	// Conversation is the conversation with the new messages in it; it is
	// zero if nothing changed.
	Conversation store.Conversation
	// Loose counts the new messages that are stored outside the view: those
	// that the history has before the part that matches (a host's own summary
	// of older messages, a changed system prompt, an older part that comes
	// later), and, without ids, those that were changed in the middle of it.
	Loose int
	// Late counts the new messages with ids that belong before one that is
	// stored already. What was stored keeps its order: they are outside the
	// view if nothing of the history was stored before them, else at its end.
	Late int
}

// Sync stores what is new of a whole history, as hosts send it every turn.
// With ids, new is what has an unknown id, or a known one with another record.
// Without, the history is aligned with the end of what is stored:
//
//   - it continues the stored messages, all of them or the newest: what
//     follows the match is new;
//   - it shares a beginning and then differs: the conversation is rewound to
//     the last shared message, and the rest is new, unless it is on a branch
//     that was left before, which then becomes the active one again;
//   - it shares nothing: all of it is new.
//
// A history of up to 4,096 messages is compared message by message. A longer
// one is taken as known as far as it lies one to one over the active branch:
// as many messages, the first 8 and the last 64 of them the same. Set full to
// compare everything there as well, where an old message may have been edited
// in place or may have given its place to another.
//
// Processes may sync one conversation at the same time. What another one
// stored between the comparison and the transaction is compared anew;
// [store.ErrStale] is returned if that happens again and again.
func (in *Ingester) Sync(ctx context.Context, id store.ConversationID, history []Input, full bool) (Synced, error) {
	history, err := in.clean(history)
	if err != nil {
		return Synced{}, err
	}
	once := distinct(history)
	t := trust{full: full, branches: true, inherited: true}
	for range attempts {
		var done Synced
		done, err = in.sync(ctx, id, once, t)
		done.Existing += len(history) - len(once)
		switch {
		case err == nil:
			return done, nil
		case errors.Is(err, errWrongBranch):
			t.branches = false
		case errors.Is(err, store.ErrOffBranch) && t.inherited:
			t.inherited = false
		case !errors.Is(err, store.ErrStale):
			return Synced{}, err
		}
	}
	return Synced{}, &store.Problem{
		Err:  fmt.Errorf("sync %d messages: %w", len(history), err),
		Hint: "others keep writing to this conversation: nothing of this history was stored, send it again",
	}
}

// attempts is how often a history is compared anew because others wrote to
// the conversation meanwhile. Each time one of them got on.
const attempts = 32

// sync compares a history with the conversation as it stands, and stores what
// is new if it still stands so.
func (in *Ingester) sync(ctx context.Context, id store.ConversationID, history []Input, t trust) (Synced, error) {
	conv, err := in.store.Conversation(ctx, id)
	if err != nil {
		return Synced{}, err
	}
	if err := in.privacy.Ignored(conv.Key, conv.Project); err != nil {
		return Synced{}, err
	}
	said := len(history)
	if history, err = in.remembered(ctx, conv.Key, history); err != nil {
		return Synced{}, err
	}
	p, err := in.plan(ctx, conv, history, t)
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
	hidden, err := in.prepareAll(ctx, outside)
	if err != nil {
		return Synced{}, err
	}
	shown, err := in.prepareAll(ctx, fresh)
	if err != nil {
		return Synced{}, err
	}
	err = in.store.Update(ctx, id, func(w store.Writer) error {
		if moved(conv, w.Conversation()) {
			return store.ErrStale
		}
		if err := done.write(ctx, w, hidden); err != nil {
			return err
		}
		if back != 0 {
			b, err := w.Rewind(ctx, back, "history differs")
			if err != nil {
				return err
			}
			done.Rewound = &b
			if err := p.prove(ctx, w); err != nil {
				return err
			}
		}
		return done.write(ctx, w, shown)
	})
	return done, err
}

// moved reports whether messages were added to a conversation or its view was
// changed since it was read.
func moved(was, is store.Conversation) bool {
	return was.Head != is.Head || was.ViewItems != is.ViewItems || was.ViewTokens != is.ViewTokens
}

// sort parts the new messages of a history into those that are kept outside
// the view and those that are added to it.
func (p *plan) sort() (outside, fresh []Input, done Synced) {
	first, last := p.first(), p.last()
	for i, m := range p.history {
		if p.has(i) {
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

// back returns the message that the view must go back to, or on to on another
// branch, before the new ones are added; 0 if it need not. A history that is
// just shorter than what is stored changes nothing.
func (p *plan) back(ctx context.Context) (store.MessageID, error) {
	last := p.last()
	if last < p.from { // nothing is known, or all that is stored
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
	named := map[store.MessageID]bool{}
	for _, s := range p.known {
		if s != nil {
			named[s.id] = true
		}
	}
	left := false // the branch goes on with what the history does not have
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

// write stores prepared messages in the transaction of w.
func (done *Synced) write(ctx context.Context, w store.Writer, ready []prepared) error {
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
