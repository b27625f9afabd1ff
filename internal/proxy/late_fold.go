package proxy

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
)

// A request never waits for the first fold of a long session, and the API may refuse it.
// Then the agent may end before the fold does. Close finishes the fold, for as long as a
// user may wait, and the next run does the rest while its agent starts.

// finishTime is how long Close folds a session whose fold is late.
const finishTime = 10 * time.Second

// noteLate notes whether the fold of the session is late for a request.
func (s *session) noteLate(m Composition) {
	switch {
	case m.Over == NotFolded || m.Over == NoTranscript:
		s.server.runLog.late(s.key, m.Budget)
	case m.Dropped > 0:
		s.server.runLog.late(s.key, 0)
	}
}

// finish folds the session to the end if its fold is late.
func (s *session) finish(ctx context.Context) error {
	if s.server.runLog.snapshot().Unfolded[s.key] == 0 || s.conversation() == 0 {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	err := s.refresh(bounded)
	switch {
	case err == nil:
		s.server.runLog.late(s.key, 0)
	case bounded.Err() != nil && ctx.Err() == nil:
		return nil // the next run goes on
	}
	return err
}

// foldLeftOver folds the sessions that the run before this one has left unfolded.
func (s *Server) foldLeftOver(ctx context.Context) {
	runs, err := Runs(ctx, s.store)
	if err != nil || len(runs) == 0 {
		return // the sessions are folded when they send a request
	}
	last := runs[0]
	if last.ID == s.Run.ID && len(runs) > 1 {
		last = runs[1]
	}
	for key, budget := range last.Unfolded {
		s.runLog.late(key, budget) // for the next run, if this one ends before
		host, id, _ := strings.Cut(key, ":")
		one := s.newSession(key, host, id)
		err := one.catchUp(ctx)
		if err == nil && one.conversation() != 0 {
			_, err = s.Engine.Compact(ctx, one.conversation(), lcm.CompactOptions{Budget: max(lcm.MinBudget, int(float64(budget)*foldTo/100/lowThreshold))})
		}
		switch {
		case err == nil || errors.Is(err, hosts.ErrNoTranscript):
			s.runLog.late(key, 0)
		case ctx.Err() == nil:
			s.runLog.problem(err)
		}
	}
}
