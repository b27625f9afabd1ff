package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/store"
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

// The lease that keeps the servers of several hosts from reading the same
// transcripts at the same time. It is left to expire: a server that starts a
// moment later has nothing to do.
const (
	leaseSpace = "mcp"
	leaseKey   = "catch-up"
	leaseTime  = time.Minute
)

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

// catchUp reads all transcripts under the lease.
func (s *Server) catchUp(ctx context.Context) error {
	held, err := s.takeLease(ctx)
	if errors.Is(err, store.ErrConflict) {
		return nil // another server reads them
	}
	if err != nil {
		return fmt.Errorf("take the lease for catching up: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		held.keep(ctx, cancel)
	}()
	err = s.config.Feed.All(ctx)
	cancel()
	<-renewed
	if err != nil {
		// Somebody else may try at once.
		held.drop(context.WithoutCancel(ctx))
	}
	return err
}

// lease is held by the server that catches up on all transcripts.
type lease struct {
	state   store.State
	clock   func() time.Time
	version int64
}

func (s *Server) takeLease(ctx context.Context) (*lease, error) {
	l := &lease{state: s.store, clock: s.config.Clock}
	err := l.put(ctx)
	if !errors.Is(err, store.ErrConflict) {
		return l, err
	}
	// A lease that lasts longer than any was taken when the clock was ahead.
	v, err := l.state.Get(ctx, leaseSpace, leaseKey)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return l, l.put(ctx)
	case err != nil:
		return nil, err
	case v.Expires.Sub(l.clock()) <= 2*leaseTime:
		return nil, store.ErrConflict
	}
	l.version = v.Version
	return l, l.put(ctx)
}

func (l *lease) put(ctx context.Context) error {
	version, err := l.state.Put(ctx, leaseSpace, leaseKey, nil, l.version, l.clock().Add(leaseTime))
	if err == nil {
		l.version = version
	}
	return err
}

// keep renews the lease until ctx ends, and gives up if it is lost.
func (l *lease) keep(ctx context.Context, lost context.CancelFunc) {
	tick := time.NewTicker(leaseTime / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := l.put(ctx); err != nil {
				lost()
				return
			}
		}
	}
}

// drop gives the lease back. One that cannot be dropped runs out by itself.
func (l *lease) drop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = l.state.Delete(ctx, leaseSpace, leaseKey, l.version)
}
