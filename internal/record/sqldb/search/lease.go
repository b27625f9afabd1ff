package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/state"
	"github.com/lossless-context/lcm/internal/record/store"
)

// sealLease is how long a process may index a lane alone after it took or
// renewed the lease. A process that takes longer loses it, and another builds
// the same segments: only the first are stored.
const sealLease = 15 * time.Second

// sealRenewal is the age at which a lease is renewed.
const sealRenewal = sealLease / 3

// turnPoll is how often a waiting process looks at the lease again.
const turnPoll = 20 * time.Millisecond

// follow seals documents into segments until fewer than least are left, and
// merges segments. One process at a time does it. Without wait the others
// return at once; with wait they wait for it, so that a writer cannot outrun
// the indexer.
func (l *lane) follow(ctx context.Context, least int64, wait bool) error {
	return l.followTo(ctx, math.MaxInt64, least, wait)
}

// followTo is follow for the documents up to an id.
func (l *lane) followTo(ctx context.Context, end, least int64, wait bool) error {
	// Close waits for this call, so that release still has the writer.
	release, err := l.ix.file.Hold()
	if err != nil {
		return err
	}
	defer release()
	l.sealing.Lock()
	defer l.sealing.Unlock()
	for {
		due, err := l.isDue(ctx, least)
		if err != nil || !due {
			return err
		}
		turn, err := l.takeTurn(ctx)
		if err != nil {
			return err
		}
		if turn != nil {
			lost, err := l.catchUpAlone(ctx, turn, end, least)
			if err := errors.Join(err, turn.release(ctx)); err != nil || !lost {
				return err
			}
			continue
		}
		if !wait {
			return nil
		}
		if err := store.Wait(ctx, turnPoll); err != nil {
			return err
		}
	}
}

// isDue reports whether there is enough to seal, and remembers how far other
// processes have come.
func (l *lane) isDue(ctx context.Context, least int64) (due bool, err error) {
	var after, last int64
	err = l.ix.file.Snapshot(ctx, func(c sqldb.Conn, settled sqldb.Settled) (err error) {
		if after, err = l.watermark(c); err != nil {
			return err
		}
		last, err = l.lastID(c)
		last = min(last, settledOf(l, settled))
		return err
	})
	if err == nil {
		l.noteSealed(after)
	}
	return last-after >= least, err
}

// turn is the lease of a lane's indexing.
type turn struct {
	file    sqldb.DB
	key     string
	version int64
	taken   time.Time // or renewed
}

// takeTurn takes the lease of a lane's indexing. It returns nil if another
// process has it.
func (l *lane) takeTurn(ctx context.Context) (*turn, error) {
	held, taken, err := l.lease(ctx)
	if err != nil || taken {
		return nil, err
	}
	t := &turn{file: l.ix.file, key: leaseKey(l), version: held.Version}
	if ok, err := t.put(ctx); err != nil || !ok {
		return nil, err
	}
	return t, nil
}

func leaseKey(l *lane) string { return fmt.Sprintf("index/%d", l.kind) }

// lease reads the lease of a lane, and reports whether a process holds it. A
// lease that ends too late was taken with a wrong clock and does not count.
func (l *lane) lease(ctx context.Context) (held store.Value, taken bool, err error) {
	held, err = state.Table{DB: l.ix.file}.Get(ctx, store.LeaseSpace, leaseKey(l))
	if errors.Is(err, store.ErrNotFound) {
		return held, false, nil
	}
	return held, err == nil && !held.Expires.IsZero() && !held.Expires.After(l.ix.file.Now().Add(sealLease)), err
}

// put writes the lease. It reports false if another process has written it.
func (t *turn) put(ctx context.Context) (ok bool, err error) {
	now := t.file.Now()
	version, err := state.Table{DB: t.file}.Put(ctx, store.LeaseSpace, t.key, fmt.Appendf(nil, "%d", os.Getpid()), t.version, now.Add(sealLease))
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	t.version, t.taken = version, now
	return err == nil, err
}

// renew extends the lease for long work, such as an import. It reports false if
// the lease was lost.
func (t *turn) renew(ctx context.Context) (ok bool, err error) {
	if t.file.Now().Sub(t.taken) < sealRenewal {
		return true, nil
	}
	return t.put(ctx)
}

// releaseTime is how long a release waits for a writer. Without a release the lease
// expires.
const releaseTime = 250 * time.Millisecond

// release gives the lease back, also after Close was called, so that other
// processes need not wait until it expires. The caller must hold the file: a
// search that did not once waited here for ever.
func (t *turn) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	err := t.file.TransactHeld(ctx, func(c sqldb.Conn) error { return state.DeleteIn(c, store.LeaseSpace, t.key, t.version, t.file.Now()) })
	if errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
		return nil // another process has it by now, or will
	}
	return err
}

// catchUpAlone seals and merges while the process holds the lease. It reports
// whether the lease was lost before all was done: on a busy machine one step may
// take longer than the lease lasts.
func (l *lane) catchUpAlone(ctx context.Context, t *turn, end, least int64) (lost bool, err error) {
	for {
		sealed, err := l.seal(ctx, least)
		if err != nil {
			return false, err
		}
		if err := l.merge(ctx, t); err != nil {
			return false, err
		}
		if sealed == 0 || sealed >= end {
			return false, nil
		}
		if ok, err := t.renew(ctx); err != nil || !ok {
			return !ok, err
		}
	}
}
