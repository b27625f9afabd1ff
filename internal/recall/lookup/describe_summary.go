package lookup

import (
	"cmp"
	"context"
	"errors"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

func (d *description) summary(ctx context.Context, id store.SummaryID) error {
	a := &d.answer
	sum, err := d.Service.summary(ctx, id)
	if err != nil {
		return err
	}
	if err := within(a.Scope, string(id), sum.Conversation); err != nil {
		return err
	}
	a.Type, a.ConversationID, a.CreatedAt, a.Damaged = "summary", sum.Conversation, sum.CreatedAt, sum.Damaged
	a.TokenCount, a.ByteSize, a.FileIDs = sum.Tokens, int64(len(sum.Body)), sum.Files
	detail := &recall.SummaryDetail{
		Depth: sum.Depth, Kind: sum.Kind, EarliestAt: sum.Earliest, LatestAt: sum.Latest,
		DescendantCount: sum.Descendants, MessageCount: sum.Messages, ParentIDs: []store.SummaryID{}, SourceMessageIDs: []store.MessageID{},
		SourceTokens: sum.SourceTokens, MessageTokens: sum.MessageTokens,
		Level: sum.Level, Method: sum.Method, Model: sum.Model, Revision: sum.Revision, Retired: sum.Retired,
	}
	a.SummaryDetail = detail
	sources, err := d.store.Sources(ctx, id)
	if err != nil {
		return err
	}
	for _, n := range sources {
		if n.Message != 0 {
			detail.SourceMessageIDs = append(detail.SourceMessageIDs, n.Message)
			continue
		}
		below, err := d.Service.summary(ctx, n.Summary)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err == nil {
			detail.ParentIDs = append(detail.ParentIDs, n.Summary)
		}
		if err != nil || below.Damaged { // its id may be another one
			a.Damaged = true
			a.Notes = append(a.Notes, "damaged: a source is not what was written, or not there: "+cmp.Or(string(n.Summary), "a summary"))
		}
	}
	derived, err := d.store.Derived(ctx, store.ID{Summary: id})
	if err != nil {
		return err
	}
	detail.ChildIDs = append([]store.SummaryID{}, derived...)
	for _, id := range derived {
		if above, err := d.Service.summary(ctx, id); err != nil {
			return err
		} else if above.Damaged {
			d.damagedAbove(id)
		}
	}
	return nil
}
