package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/record"
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

// Prove verifies every conversation, in the order of the digest. An unreadable
// conversation is a fault.
func Prove(ctx context.Context, f sqldb.DB) (Proof, error) {
	var p Proof
	all, err := (&record.Records{DB: f}).Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return p, err
	}
	slices.SortFunc(all, func(a, b store.Conversation) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Segment, b.Segment))
	})
	h := sha256.New()
	for _, c := range all {
		one, err := Checker{f}.Verify(ctx, c.ID)
		if ctx.Err() != nil {
			return p, ctx.Err()
		}
		if err != nil {
			one.Faults = append(one.Faults, store.Fault{Code: "unreadable", Node: fmt.Sprintf("conversation %d", c.ID), Detail: sqldb.WithoutHint(err)})
		}
		p.Conversations++
		p.Messages += one.Messages
		p.Summaries += one.Summaries
		p.Bytes += one.Bytes
		p.Faults = append(p.Faults, one.Faults...)
		h.Write(one.Digest[:])
	}
	h.Sum(p.Digest[:0])
	orphans, err := Checker{f}.Orphans(ctx)
	if err != nil && ctx.Err() == nil {
		orphans, err = []store.Fault{{Code: "unreadable", Node: "the references", Detail: sqldb.WithoutHint(err)}}, nil
	}
	p.Faults = append(p.Faults, orphans...)
	return p, err
}
