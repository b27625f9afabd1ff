package proxy

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
)

// resume reads what the record has of the session: before its transcript is read if it can be, so that a
// request can carry the summaries that are stored. It waits for nobody who writes.
func (s *session) resume(ctx context.Context) error {
	if s.conversation() == 0 {
		found, err := s.server.store.Conversations(ctx, store.ConversationQuery{Key: s.key, ActiveOnly: true, Limit: 1})
		if err != nil || len(found) == 0 {
			return err
		}
		s.tell(func() { s.conv, s.project = found[0].ID, found[0].Project })
	}
	if err := s.extend(ctx); err != nil {
		return err
	}
	if err := s.recall(ctx); err != nil {
		return err
	}
	s.resumed = true
	return s.reload(ctx)
}

// recall makes a plan of the summaries that the session was shown last in an earlier run: a resume continues
// with them, as the provider's cache does. reload drops the plan if they have left the view.
func (s *session) recall(ctx context.Context) error {
	made, err := Requests(ctx, s.server.store, s.key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	var covers []*overlay.Cover
	for _, m := range slices.Backward(made) {
		if len(m.Summaries) == 0 || m.Observe {
			continue
		}
		for _, used := range m.Summaries {
			c, err := coverReader{store: s.server.store}.cover(ctx, used.ID, math.MaxInt)
			if err != nil {
				return err
			}
			covers = append(covers, c)
		}
		break
	}
	s.server.runLog.earlier(s.key, made)
	s.tell(func() {
		if s.shown == nil && len(covers) > 0 {
			s.shown = overlay.NewPlan(s.index, covers)
		}
	})
	return nil
}
