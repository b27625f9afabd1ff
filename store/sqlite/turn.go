package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/index"
	"github.com/lossless-context/lcm/store"
)

// sealLease is how long one process has the indexing of a lane to itself.
// Should it take longer, another builds the same: that costs time and nothing
// else, since only the first to be done is stored.
const sealLease = 15 * time.Second

// turnPoll is how often a process that waits for its turn looks again.
const turnPoll = 20 * time.Millisecond

// follow seals runs of documents until fewer than least are left, and merges
// segments as they add up. Of the processes that share a file one at a time
// does: each would build the same. The others leave it to that one, or with
// wait are held up until it is done, so that they cannot outrun it.
func (l *lane) follow(ctx context.Context, least int64, wait bool) error {
	l.sealing.Lock()
	defer l.sealing.Unlock()
	for {
		due, err := l.isDue(ctx, least)
		if err != nil || !due {
			return err
		}
		release, ok, err := l.takeTurn(ctx, wait)
		if err != nil {
			return err
		}
		if ok {
			return errors.Join(l.catchUpAlone(ctx, least), release())
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
	err = l.db.withReader(ctx, func(c *conn) error {
		return c.read(func() (err error) {
			if after, err = l.watermark(c); err != nil {
				return err
			}
			_, err = c.one(l.sql.last, func(s *sqlite3.Stmt) error { last = s.ColumnInt64(0); return nil })
			return err
		})
	})
	if err == nil {
		l.noteSealed(after)
	}
	return last-after >= least, err
}

// takeTurn takes the lease of a lane's indexing, unless another process has
// it.
func (l *lane) takeTurn(ctx context.Context, wait bool) (release func() error, ok bool, err error) {
	key := fmt.Sprintf("index/%d", l.kind)
	now := l.db.opts.Clock()
	held, err := l.db.Get(ctx, leaseSpace, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return nil, false, err
	case !held.Expires.IsZero() && !held.Expires.After(now.Add(sealLease)):
		return nil, false, nil
	}
	// One that ends later than any does was taken when a clock was wrong.
	version, err := l.db.Put(ctx, leaseSpace, key, fmt.Appendf(nil, "%d", os.Getpid()), held.Version, now.Add(sealLease))
	if errors.Is(err, store.ErrConflict) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return func() error {
		err := l.db.Delete(context.WithoutCancel(ctx), leaseSpace, key, version)
		if errors.Is(err, errClosed) && !wait {
			// The indexer in the background is what Close waits for, so the
			// writer is still there.
			err = l.db.deleteLast(ctx, leaseSpace, key, version)
		}
		if errors.Is(err, store.ErrConflict) {
			err = nil // it took so long that another has it
		}
		return err
	}, true, nil
}

// deleteLast is Delete for what holds a closing database open.
func (db *DB) deleteLast(ctx context.Context, space, key string, version int64) error {
	c := <-db.write
	defer func() { db.write <- c }()
	defer c.SetInterrupt(c.SetInterrupt(context.WithoutCancel(ctx)))
	return c.write(func() error { return c.delete(space, key, version, db.opts.Clock()) })
}

// catchUpAlone does what follow says, for all processes.
func (l *lane) catchUpAlone(ctx context.Context, least int64) error {
	for {
		more, err := l.seal(ctx, least)
		if err != nil {
			return err
		}
		if err := l.merge(ctx); errors.Is(err, index.ErrCorrupt) {
			return nil // the next search notices, and has the index built anew
		} else if err != nil {
			return err
		}
		if !more {
			return nil
		}
	}
}
