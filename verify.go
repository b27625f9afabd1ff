package lcm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/record"
)

// StoreVerification is the result of [Engine.Verify]: the proofs of all conversations of
// a store, and their sums.
type StoreVerification struct {
	Conversations []record.Verification // the proofs, by session key and segment
	Messages      int64                 // number of messages
	Summaries     int64                 // number of summaries
	Bytes         int64                 // of the messages as they arrived
	// Digest is the same for the same messages, in every database.
	Digest [sha256.Size]byte
	// Faults are defects of rows that belong to no conversation.
	Faults []record.Fault
}

// Sound reports whether no fault was found.
func (v StoreVerification) Sound() bool {
	return len(v.Faults) == 0 && !slices.ContainsFunc(v.Conversations, func(c record.Verification) bool { return len(c.Faults) > 0 })
}

// Verify proves every conversation of the store: each record is as it arrived,
// each message is reachable exactly once from its view or a kept branch, and
// the hash chains hold. It also looks for rows that belong to no conversation.
func (e *Engine) Verify(ctx context.Context) (StoreVerification, error) {
	all, err := e.store.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return StoreVerification{}, err
	}
	// By key and segment, which do not depend on the database.
	slices.SortFunc(all, func(a, b record.Conversation) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Segment, b.Segment))
	})
	var v StoreVerification
	h := sha256.New()
	for _, c := range all {
		one, err := e.store.Verify(ctx, c.ID)
		if err != nil {
			return v, err
		}
		v.Conversations = append(v.Conversations, one)
		v.Messages += one.Messages
		v.Summaries += one.Summaries
		v.Bytes += one.Bytes
		h.Write(one.Digest[:])
	}
	h.Sum(v.Digest[:0])
	v.Faults, err = e.store.Orphans(ctx)
	return v, err
}
