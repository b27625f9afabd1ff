package hosts

import (
	"context"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
)

// LeftSummaries is the kind of summaries that have no place: see [lcm.Engine.TakeSummaries].
const LeftSummaries = "summaries"

// summaries takes the summaries of a transcript that was read to its end.
func (r *reading) summaries(ctx context.Context) error {
	h, ok := r.host.(Summarising)
	if !ok || r.session == nil {
		return nil
	}
	beside, err := h.Summaries(ctx, r.t)
	if err != nil {
		return &readError{fmt.Errorf("read %s: %w", r.t.Path, err)}
	}
	for kind, n := range beside.Left {
		count(&r.report.Left, kind, n)
	}
	var ids []string
	for _, s := range beside.Summaries {
		if !s.Condensed {
			ids = append(ids, s.Of...)
		}
	}
	type source struct {
		id    store.MessageID
		empty bool // it is in no view
	}
	messages := map[string]source{}
	for part := range slices.Chunk(ids, batchRecords) {
		found, err := r.natives(ctx, part...)
		if err != nil {
			return err
		}
		for id, m := range found {
			messages[id] = source{m.ID, len(m.Body.Parts) == 0}
		}
	}
	given := make([]store.Summary, len(beside.Summaries))
	for i, s := range beside.Summaries {
		given[i] = store.Summary{ID: store.SummaryID(s.ID), Body: s.Text, Model: s.Model}
		for _, id := range s.Of {
			if s.Condensed {
				given[i].Sources = append(given[i].Sources, store.ID{Summary: store.SummaryID(id)})
			} else if m := messages[id]; !m.empty { // one that was not stored has no number, and is in no view
				given[i].Sources = append(given[i].Sources, store.ID{Message: m.id})
			}
		}
	}
	taken, known, err := r.feed.engine.TakeSummaries(ctx, r.conv, given)
	r.report.Summaries = taken
	if left := len(given) - taken - known; left > 0 && err == nil {
		count(&r.report.Left, LeftSummaries, left)
	}
	return err
}
