package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/kit/process"
	"github.com/lossless-context/lcm/internal/record/lease"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Feed brings the record up to date with the hosts' transcripts. Implementations
// are safe for concurrent use.
type Feed interface {
	// Current stores new records of the transcripts that a call may come from.
	// It stops when ctx ends; a later call continues.
	Current(ctx context.Context, from Caller) error
	// All stores new records of every transcript.
	All(ctx context.Context) error
}

// ErrBehind says that a transcript was not read to its end in time.
var ErrBehind = errors.New("the transcript was not read to its end")

// freshTime bounds how long an answer waits for the caller's transcript. A turn
// has kilobytes, so this is enough; otherwise the answer says that messages may
// be missing.
const freshTime = 800 * time.Millisecond

// freshen reads the caller's transcript, and returns a note if that failed. An
// answer from a record that is slightly behind is better than none.
func (s *Server) freshen(ctx context.Context, from Caller) (note string) {
	if s.config.Feed == nil {
		return ""
	}
	bounded, cancel := context.WithTimeout(ctx, freshTime)
	defer cancel()
	err := s.config.Feed.Current(bounded, from)
	switch {
	case err == nil:
		return ""
	case ctx.Err() != nil: // the call is over
		return ""
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrBehind):
		return "the newest messages of this session may be missing: the transcript is still being read"
	}
	s.config.Log.Warn("catching up on the current transcript failed", "error", err)
	return fmt.Sprintf("the newest messages of this session may be missing: %v", err)
}

// leaseTime is how long a server that reads all transcripts keeps the servers of
// other hosts from repeating the work. The lease is left to expire: a server that
// starts a moment later has nothing to do.
const leaseTime = time.Minute

// catchUpInBackground reads all transcripts, unless another server does.
func (s *Server) catchUpInBackground() {
	if s.config.Feed == nil {
		return
	}
	s.running.Go(func() {
		err := s.catchUp(s.lifetime)
		if err != nil && s.lifetime.Err() == nil {
			s.config.Log.Warn("catching up on transcripts failed", "error", err)
		}
	})
}

// catchUp reads all transcripts under the lease. If that fails it releases the lease,
// so that another server may try at once.
func (s *Server) catchUp(ctx context.Context) error {
	leases := &lease.Leases{State: s.store, Space: store.CatchUpSpace, Clock: s.config.Clock, Owner: process.Owner(), TTL: leaseTime}
	held, err := leases.Take(ctx, "catch-up", false)
	if errors.Is(err, lease.ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	stop := held.Keep(ctx)
	if err = errors.Join(s.config.Feed.All(ctx), stop()); err != nil {
		err = errors.Join(err, held.Release(context.WithoutCancel(ctx)))
	}
	return err
}
