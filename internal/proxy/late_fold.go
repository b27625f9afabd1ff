package proxy

import (
	"context"
	"time"
)

// finishTime is how long Close folds a session whose fold is late.
const finishTime = 10 * time.Second

// noteLate notes whether the fold of the session is late for a request: a request never
// waits for the first fold of a long session, and the API may refuse it.
func (s *session) noteLate(m Composition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = (s.late || m.Over == NotFolded || m.Over == NoTranscript) && m.Dropped+len(m.Summaries) == 0
}

// finish folds the session if its fold is late, for as long as a user may wait for the end
// of the agent.
func (s *session) finish(ctx context.Context) error {
	s.mu.Lock()
	late := s.late && s.conv != 0
	s.mu.Unlock()
	if !late {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	err := s.refresh(bounded)
	if bounded.Err() != nil && ctx.Err() == nil {
		return nil // the next request of the session goes on
	}
	return err
}
