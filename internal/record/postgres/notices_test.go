//go:build unix

package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/lease"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
)

// longWait is so long that only a notice ends the wait in time.
const longWait = time.Hour

// wait starts a wait that only a notice ends.
func wait(ctx context.Context, db *postgres.DB) <-chan error {
	done := make(chan error, 1)
	go func() { done <- db.Wait(ctx, longWait) }()
	return done
}

// A write of one process wakes those that wait in another.
func TestWriteWakesOtherProcesses(t *testing.T) {
	url := pgtest.URL(t)
	db, other := open(t, url, postgres.Options{}), open(t, url, postgres.Options{})
	id := conversation(t, other, "a")
	done := wait(hurried(t), db)
	for { // until the listener is connected, notices are missed
		say(t, other, id, "news")
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// The connection of the listener is cut. A process that waits is woken when it listens
// again, and finds what it missed; a lease that was given back meanwhile is taken.
func TestCutListenerLosesNothing(t *testing.T) {
	url := pgtest.URL(t)
	proxy, through := pgtest.NewProxy(t, url)
	db, other := open(t, through, postgres.Options{}), open(t, url, postgres.Options{})
	ctx := hurried(t)
	if err := <-wait(ctx, db); err != nil { // returns when the listener is connected
		t.Fatal(err)
	}
	leases := func(db *postgres.DB, owner string) *lease.Leases {
		return &lease.Leases{State: db, Space: "lease", Clock: time.Now, Owner: owner, TTL: longWait}
	}
	held, err := leases(other, "other").Take(ctx, "work", false)
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan error, 1)
	go func() {
		_, err := leases(db, "this").Take(ctx, "work", true)
		taken <- err
	}()
	done := wait(ctx, db)
	proxy.Cut()
	if err := held.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error("a wait did not end after its connection was cut:", err)
	}
	for err = <-taken; err != nil && ctx.Err() == nil; { // its own connection may have been cut
		_, err = leases(db, "this").Take(ctx, "work", true)
	}
	if err != nil {
		t.Error(err)
	}
}
