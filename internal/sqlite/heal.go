package sqlite

import (
	"context"

	"github.com/lossless-context/lcm/internal/search/segment"
	"github.com/lossless-context/lcm/internal/store"
)

// heal builds a lane's index anew from the record, because a segment of it is
// damaged or was written by a program with another format. Nothing is lost:
// the index holds nothing that the record does not say.
func (l *lane) heal(ctx context.Context, cause error) error {
	if l.db.opts.ReadOnly {
		return &store.Problem{Err: cause, Hint: "open the database for writing once: the search index is then built anew"}
	}
	l.db.opts.Log.Warn("the search index is damaged or of another version, and is built anew", "err", cause)
	err := l.db.transact(ctx, func(c *conn) error { return c.unindex(l.kind, 0) })
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.segments = map[int64]*segment.Segment{}
	l.mu.Unlock()
	l.db.mu.Lock()
	if l.kind == laneMessages {
		l.db.sealed = 0
	}
	l.db.mu.Unlock()
	return l.follow(ctx, due, true)
}
