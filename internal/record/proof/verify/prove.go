package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Proof is the result of verifying every conversation of a database. Databases
// with the same messages have the same Digest.
type Proof struct {
	Conversations int
	Messages      int64
	Summaries     int64
	Bytes         int64 // of the original records
	Digest        [sha256.Size]byte
	Faults        []store.Fault
}

// Prove verifies every conversation, and the rows that belong to none. What cannot be read
// is a fault.
func Prove(ctx context.Context, f sqldb.DB) (Proof, error) {
	p, _, err := Conversations(ctx, f, false)
	if err != nil {
		return p, err
	}
	orphans, err := Checker{f}.Orphans(ctx)
	if err != nil && ctx.Err() == nil {
		orphans, err = []store.Fault{{Code: "unreadable", Node: "the references", Detail: sqldb.WithoutHint(err)}}, nil
	}
	p.Faults = append(p.Faults, orphans...)
	return p, err
}

// Conversations verifies every conversation, the newest first; whole is that of
// [Conversation]. If ctx ends before, left says how many were not verified. An unreadable
// conversation is a fault.
func Conversations(ctx context.Context, f sqldb.DB, whole bool) (p Proof, left string, err error) {
	records := &rows.Records{DB: f}
	all, err := records.Conversations(ctx, store.ConversationQuery{Erased: true})
	if err != nil {
		return p, "", err
	}
	proved := map[store.ConversationID]store.Verification{}
	for i, c := range all {
		one, err := Conversation(ctx, f, c.ID, whole)
		if ctx.Err() != nil {
			return p, fmt.Sprintf("%d of %d conversations", len(all)-i, len(all)), ctx.Err()
		}
		if err != nil {
			one.Faults = append(one.Faults, store.Fault{Code: "unreadable", Node: fmt.Sprintf("conversation %d", c.ID), Detail: sqldb.WithoutHint(err)})
		}
		proved[c.ID], p.Faults = one, append(p.Faults, one.Faults...)
	}
	listed, err := records.Conversations(ctx, store.ConversationQuery{})
	slices.SortFunc(listed, func(a, b store.Conversation) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Segment, b.Segment))
	})
	h := sha256.New()
	for _, c := range listed {
		one := proved[c.ID]
		p.Conversations++
		p.Messages += one.Messages
		p.Summaries += one.Summaries
		p.Bytes += one.Bytes
		h.Write(one.Digest[:])
	}
	h.Sum(p.Digest[:0])
	return p, "", err
}
