package doctor

import (
	"context"
	"fmt"

	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/store"
)

// unfinished finds interrupted erasures: free space and the log may still hold content.
func unfinished(ctx context.Context, db *sqlite.DB) ([]store.Fault, error) {
	all, err := db.Tombstones(ctx)
	var faults []store.Fault
	for _, t := range all {
		if !t.Finished {
			faults = append(faults, store.Fault{Code: "erasure-unfinished", Node: fmt.Sprintf("tombstone %d", t.ID),
				Detail: "what was erased is gone from every table, but parts of it may be left in free space of the file"})
		}
	}
	return faults, err
}

// finishErasing completes interrupted erasures.
func (p Patient) finishErasing(ctx context.Context, db *sqlite.DB) error {
	left, err := unfinished(ctx, db)
	if err != nil || len(left) == 0 {
		return err
	}
	unworded, err := db.Unworded(ctx)
	if err != nil {
		return err
	}
	by := map[store.ConversationID][]store.SummaryID{}
	for _, s := range unworded {
		by[s.Conversation] = append(by[s.Conversation], s.ID)
	}
	if err := p.rewrite(ctx, db, by); err != nil {
		return err
	}
	if err := db.Reindex(ctx); err != nil {
		return err
	}
	return db.Scrub(ctx)
}
