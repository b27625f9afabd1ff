package ui

import (
	"context"
	"net/http"

	"github.com/lossless-context/lcm/internal/record/sqldb/stats"
	"github.com/lossless-context/lcm/internal/record/store"
)

// branches returns the branches of a conversation that were left.
func (s *reader) branches(ctx context.Context, c store.Conversation) ([]stats.Branch, error) {
	if s.listBranches == nil {
		return nil, nil
	}
	return s.listBranches(ctx, c.ID)
}

// markLanes notes on messages the sub-agents and forks that begin after them, and
// the branches that they are on. more says whether messages follow.
func (s *reader) markLanes(r *http.Request, c store.Conversation, ms []Message, related []Session, more bool) error {
	left, err := s.branches(r.Context(), c)
	if err != nil {
		return err
	}
	for i := range ms {
		for _, b := range left {
			if b.First <= ms[i].Seq && ms[i].Seq <= b.Last {
				ms[i].OnBranch, ms[i].BranchStart = true, ms[i].BranchStart || ms[i].Seq == b.First
				ms[i].BranchAfter = b.After
			}
		}
	}
	for _, o := range related {
		if o.Parent != c.ID && o.ForkedFrom != c.ID {
			continue
		}
		at := -1
		for i := range ms {
			if !ms[i].Body.Time.IsZero() && !ms[i].Body.Time.After(o.Created) {
				at = i
			}
		}
		if at >= 0 && (at < len(ms)-1 || !more) {
			ms[at].Begins = append(ms[at].Begins, o)
		}
	}
	return nil
}
