package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/store"
)

// Synced says what Sync did.
type Synced struct {
	Stored   []store.Appended // what was new, in order
	Existing int              // how many messages were there already
	// Rewound is set if the history leaves the stored one at an earlier
	// message: what came after that is kept as a branch.
	Rewound *store.Branch
	// Conversation is the conversation with the new messages in it; it is
	// zero if there were none.
	Conversation store.Conversation
	// Loose counts messages that the history has before the part that
	// matches: a host's own summary of older messages, a changed system
	// prompt. They are stored outside the view.
	Loose int
}

// Sync stores what is new of a whole history, as hosts send it every turn.
// With ids, new is what has an unknown id. Without, the history is aligned
// with the end of what is stored:
//
//   - it continues the stored messages, all of them or the newest: what
//     follows the match is new;
//   - it shares a beginning and then differs: the conversation is rewound to
//     the last shared message, and the rest is new;
//   - it shares nothing: all of it is new.
//
// The work is proportional to what is new, plus a window of messages that
// proves the match, however long the history is. Set full to compare
// everything instead, where an old message may have been edited in place.
func (in *Ingester) Sync(ctx context.Context, id store.ConversationID, history []Input, full bool) (Synced, error) {
	if withIDs(history) {
		return in.syncByID(ctx, id, history, full)
	}
	m, err := in.align(ctx, id, history, full)
	if err != nil {
		return Synced{}, err
	}
	return in.apply(ctx, id, history, m)
}

func withIDs(history []Input) bool {
	for _, m := range history {
		if m.ID == "" {
			return false
		}
	}
	return len(history) > 0
}

// matched says how a history lies over what is stored.
type matched struct {
	loose int // messages before the match
	same  int // messages of the match
	// doubtful counts messages that equal the newest stored ones, too few to
	// be sure that they are the same. They are stored, and flagged.
	doubtful int
	// rewind is the stored message after which the history differs; set when
	// stored messages follow it.
	rewind *store.MessageID
}

// apply stores the loose head outside the view, and what follows the match.
func (in *Ingester) apply(ctx context.Context, id store.ConversationID, history []Input, m matched) (Synced, error) {
	loose := make([]Input, m.loose)
	seen := map[string]int{}
	for i := range loose {
		loose[i] = history[i]
		sum := identity(history[i].Message)
		key := hex.EncodeToString(sum[:12])
		seen[key]++
		// A stable id makes the next Sync of the same head find it stored.
		loose[i].ID = fmt.Sprintf("lcm-sync:%s:%d", key, seen[key])
		loose[i].Flags |= store.FlagHidden
	}
	fresh := slices.Clone(history[m.loose+m.same:])
	for i := range min(m.doubtful, len(fresh)) {
		fresh[i].Flags |= store.FlagDuplicate
	}
	done := Synced{Existing: m.same, Loose: m.loose}
	if m.loose == 0 && len(fresh) == 0 && m.rewind == nil {
		return done, nil
	}
	ready, err := in.prepareAll(ctx, slices.Concat(loose, fresh))
	if err != nil {
		return Synced{}, err
	}
	return done, in.store.Update(ctx, id, func(w store.Writer) error {
		return in.commit(ctx, w, &done, m.rewind, ready)
	})
}

// window is how many messages in a row must be known to take those before
// them as known.
const window = 64

// syncByID appends what has an unknown id. If the message before the new ones
// is not the newest of the view, the history has gone back to it.
func (in *Ingester) syncByID(ctx context.Context, id store.ConversationID, history []Input, full bool) (Synced, error) {
	known, from, err := in.known(ctx, id, history, full)
	if err != nil {
		return Synced{}, err
	}
	done := Synced{Existing: from}
	var fresh []Input
	for i := from; i < len(history); i++ {
		if old, ok := known[history[i].ID]; ok && sameRecord(old, history[i].Message) {
			done.Existing++
		} else {
			fresh = append(fresh, history[i])
		}
	}
	if len(fresh) == 0 {
		return done, nil
	}
	ready, err := in.prepareAll(ctx, fresh)
	if err != nil {
		return Synced{}, err
	}
	back, err := in.goneBack(ctx, id, history, known)
	if err != nil {
		return Synced{}, err
	}
	return done, in.store.Update(ctx, id, func(w store.Writer) error {
		return in.commit(ctx, w, &done, back, ready)
	})
}

// known looks up the messages at the end of a history by id, backwards, until
// a whole window of them is known. It returns where it stopped.
func (in *Ingester) known(ctx context.Context, id store.ConversationID, history []Input, full bool) (map[string]store.Message, int, error) {
	known := map[string]store.Message{}
	to := len(history)
	for to > 0 {
		from := max(0, to-window)
		q := store.MessageQuery{Conversation: id, Natives: ids(history[from:to])}
		found := 0
		for m, err := range in.store.Messages(ctx, q) {
			if err != nil {
				return nil, 0, err
			}
			known[m.Native] = m
			found++
		}
		to = from
		if found >= window && !full {
			break
		}
	}
	return known, to, nil
}

func ids(history []Input) []string {
	all := make([]string, len(history))
	for i, m := range history {
		all[i] = m.ID
	}
	return all
}

// sameRecord tells an unchanged message from one that was edited in place.
func sameRecord(old store.Message, m llms.Message) bool {
	_, record, _, err := recordOf(m)
	return err == nil && sha256.Sum256(record) == old.SHA256
}

// goneBack returns the message that the new end of a history follows, if it
// is not the newest of the view.
func (in *Ingester) goneBack(ctx context.Context, id store.ConversationID, history []Input, known map[string]store.Message) (*store.MessageID, error) {
	end := len(history)
	for end > 0 {
		if _, ok := known[history[end-1].ID]; ok {
			break
		}
		end--
	}
	if end == 0 || end == len(history) {
		return nil, nil
	}
	before := known[history[end-1].ID]
	view, err := in.store.View(ctx, id, store.Window{Newest: 1})
	if err != nil || len(view.Items) == 0 || view.Items[0].Message == before.ID || before.Flags&store.FlagHidden != 0 {
		return nil, err
	}
	return &before.ID, nil
}

// commit rewinds if the history went back, and appends. A message off the
// active branch cannot be gone back to: then the new ones are simply added.
func (in *Ingester) commit(ctx context.Context, w store.Writer, done *Synced, back *store.MessageID, ready []prepared) error {
	if back != nil {
		b, err := w.Rewind(ctx, *back, "history differs")
		switch {
		case err == nil:
			done.Rewound = &b
		case !errors.Is(err, store.ErrOffBranch):
			return err
		}
	}
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

// identity hashes what a message says, without what hosts change between two
// sendings of it: ids, times, cache marks, metadata.
func identity(m llms.Message) [sha256.Size]byte {
	plain := llms.Message{Role: m.Role, Parts: stripped(m.Parts)}
	b, err := llms.Encode(llms.FormatLCM, plain)
	if err != nil { // cannot be: only metadata can fail, and there is none
		return sha256.Sum256([]byte(m.Render()))
	}
	return sha256.Sum256(b)
}

func stripped(parts []llms.Part) []llms.Part {
	out := make([]llms.Part, len(parts))
	for i, p := range parts {
		if p.Kind != llms.PartOther {
			p.Extra = nil
		}
		if p.Result != nil {
			r := *p.Result
			r.Output, r.Name = stripped(r.Output), ""
			p.Result = &r
		}
		out[i] = p
	}
	return out
}
