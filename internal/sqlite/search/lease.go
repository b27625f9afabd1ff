package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/lossless-context/lcm/internal/search/segment"
	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/state"
	"github.com/lossless-context/lcm/internal/store"
)

// sealLease is how long a process has the indexing of a lane to itself after it
// took or renewed its turn. One that is held up for longer loses the turn, and
// another builds the same: that costs time and nothing else, since only the
// first to be done is stored.
const sealLease = 15 * time.Second

// sealRenewal is the age at which a lease is renewed.
const sealRenewal = sealLease / 3

// turnPoll is how often a process that waits for its turn looks again.
const turnPoll = 20 * time.Millisecond

// follow seals runs of documents until fewer than least are left, and merges
// segments as they add up. Of the processes that share a file one at a time
// does: each would build the same. The others leave it to that one, or with
// wait are held up until it is done, so that they cannot outrun it.
func (l *lane) follow(ctx context.Context, least int64, wait bool) error {
	return l.followTo(ctx, math.MaxInt64, least, wait)
}

// followTo is follow for the documents up to an id: it does not chase a writer
// that adds more in the meantime.
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
			return errors.Join(l.catchUpAlone(ctx, turn, end, least), turn.release(ctx))
		}
		if !wait {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(turnPoll):
		}
	}
}

// isDue reports whether there is anything to seal, and notes how far others
// have come.
func (l *lane) isDue(ctx context.Context, least int64) (due bool, err error) {
	var after, last int64
	err = l.ix.file.Reader(ctx, func(c *dbfile.Conn) error {
		return c.Read(func() (err error) {
			if after, err = l.watermark(c); err != nil {
				return err
			}
			last, err = l.lastID(c)
			return err
		})
	})
	if err == nil {
		l.noteSealed(after)
	}
	return last-after >= least, err
}

// turn is the lease of a lane's indexing.
type turn struct {
	file    *dbfile.File
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

// lease reads the lease of a lane's indexing, and reports whether a process
// has it. A lease that ends later than any does was taken when a clock was
// wrong, and does not count.
func (l *lane) lease(ctx context.Context) (held store.Value, taken bool, err error) {
	held, err = state.Get(ctx, l.ix.file, state.LeaseSpace, leaseKey(l))
	if errors.Is(err, store.ErrNotFound) {
		return held, false, nil
	}
	return held, err == nil && !held.Expires.IsZero() && !held.Expires.After(l.ix.file.Now().Add(sealLease)), err
}

// put writes the lease. It reports false if another process has written it.
func (t *turn) put(ctx context.Context) (ok bool, err error) {
	now := t.file.Now()
	version, err := state.Put(ctx, t.file, state.LeaseSpace, t.key, fmt.Appendf(nil, "%d", os.Getpid()), t.version, now.Add(sealLease))
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	t.version, t.taken = version, now
	return err == nil, err
}

// renew keeps the lease for work that takes longer than it lasts, such as
// following an import. It reports false if the turn is lost.
func (t *turn) renew(ctx context.Context) (ok bool, err error) {
	if t.file.Now().Sub(t.taken) < sealRenewal {
		return true, nil
	}
	return t.put(ctx)
}

// release gives the lease back, also when the database was closed meanwhile:
// else other processes would wait until it runs out. The caller must have
// entered the database, which keeps Close from taking the writer. A search that
// had not, and was indexing when Close came, waited here for ever.
func (t *turn) release(ctx context.Context) error {
	err := t.file.TransactHeld(ctx, func(c *dbfile.Conn) error { return state.DeleteIn(c, state.LeaseSpace, t.key, t.version, t.file.Now()) })
	if errors.Is(err, store.ErrConflict) {
		return nil // it took so long that another process has it
	}
	return err
}

// catchUpAlone does what followTo says, for all processes, as long as it has
// the turn.
func (l *lane) catchUpAlone(ctx context.Context, t *turn, end, least int64) error {
	for {
		sealed, err := l.seal(ctx, least)
		if err != nil {
			return err
		}
		if err := l.merge(ctx, t); errors.Is(err, segment.ErrCorrupt) {
			return nil // the next search notices, and has the index built anew
		} else if err != nil {
			return err
		}
		if sealed == 0 || sealed >= end {
			return nil
		}
		if ok, err := t.renew(ctx); err != nil || !ok {
			return err
		}
	}
}
