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
	a.ID, a.Type, a.ConversationID, a.CreatedAt, a.Damaged = store.ID{Summary: sum.ID}, "summary", sum.Conversation, sum.CreatedAt, sum.Damaged
	a.Content, a.TokenCount, a.ByteSize, a.FileIDs = sum.Body, sum.Tokens, int64(len(sum.Body)), sum.Files
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
	derived, err := d.store.Derived(ctx, store.Node{Summary: id})
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
	if len(d.bounded([]byte(sum.Body))) < len(sum.Body) {
		return d.longSummary(ctx, sum)
	}
	return d.manifest(ctx, id)
}

// longSummary shows a summary that the bounds of a request do not hold in
// pages, and the nodes beneath it after the last of them.
func (d *description) longSummary(ctx context.Context, sum store.Summary) error {
	a := &d.answer
	body := []byte(sum.Body)
	err := d.cut(window{to: int64(len(body)), read: func(from, to int64) ([]byte, error) { return body[from:to], nil }})
	if err == nil {
		a.Manifest = []recall.Branch{}
		if a.NextCursor != "" {
			return nil
		}
		d.request.Cursor = ""
	} else {
		// The cursor belongs to the manifest, which refuses any other.
		a.Content, a.Offset, a.Truncated = "", int64(len(body)), true
	}
	return d.manifest(ctx, sum.ID)
}

// manifest lists a page of the nodes beneath a summary.
func (d *description) manifest(ctx context.Context, id store.SummaryID) error {
	r, a := d.request, &d.answer
	digest := question(d.store, "manifest", id, r.IncludeMessages, r.ConversationID, r.AllConversations, r.Current)
	from, err := unseal[spot](r.Cursor, digest)
	if err != nil {
		return err
	}
	limit := r.Limit
	if limit == 0 {
		limit = defaultManifest
	}
	a.Manifest = []recall.Branch{}
	n := 0
	for st, err := range d.descend(ctx, nil, []store.SummaryID{id}, 0, r.IncludeMessages) {
		if err != nil {
			return err
		}
		if n++; n <= from.Done {
			continue
		}
		if len(a.Manifest) == limit {
			a.NextCursor = seal(digest, spot{Done: n - 1})
			a.Notes = append(a.Notes, "the manifest goes on: ask again with cursor set to nextCursor")
			break
		}
		b, err := d.branch(ctx, st)
		if err != nil {
			return err
		}
		a.Manifest = append(a.Manifest, b)
	}
	return nil
}

func (d *description) branch(ctx context.Context, st step) (recall.Branch, error) {
	b := recall.Branch{ID: st.Node, Level: st.level}
	if !st.IsSummary() {
		m, err := d.Service.message(ctx, st.Message)
		b.Type, b.Role, b.TokenCount = "message", m.Body.Role, m.Tokens
		b.EarliestAt, b.LatestAt = m.Body.Time, m.Body.Time
		return b, err
	}
	sum, err := d.Service.summary(ctx, st.Summary)
	b.Type, b.Depth, b.Kind, b.TokenCount = "summary", &sum.Depth, sum.Kind, sum.Tokens
	b.SourceTokens, b.MessageTokens, b.MessageCount, b.DescendantCount = sum.SourceTokens, sum.MessageTokens, sum.Messages, sum.Descendants
	b.EarliestAt, b.LatestAt = sum.Earliest, sum.Latest
	return b, err
}
