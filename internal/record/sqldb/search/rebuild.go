package search

import (
	"context"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
)

// rebuild builds the index of a lane again, because a segment is damaged or has
// the format of another version. Nothing is lost: every document is in the
// record.
func (l *lane) rebuild(ctx context.Context, cause error) error {
	if l.ix.file.Settings().ReadOnly {
		return &hint.Error{Err: cause, Hint: "open the database for writing once: the search index is then built again"}
	}
	l.ix.file.Settings().Log.Warn("the search index is damaged or of another version, and is built again", "err", cause)
	err := l.ix.file.Transact(ctx, func(c sqldb.Conn) error { return rows.DropIndexFrom(c, l.kind, 0) })
	if err != nil {
		return err
	}
	l.dropped()
	return l.follow(ctx, due, true)
}

// repair drops the segments of a lane from the first one that is not sound.
func (l *lane) repair(ctx context.Context) error {
	unsound := false
	err := l.ix.file.Transact(ctx, func(c sqldb.Conn) error {
		at, _, err := l.unsound(ctx, c)
		if err != nil || at == 0 {
			return err
		}
		unsound = true
		var has int64
		if _, err := c.One(`SELECT count(*) FROM lanes WHERE lane = ?`, sqldb.Into(&has), l.kind); err != nil {
			return err
		}
		if has == 0 {
			err := sqldb.Steps(
				func() error { return c.Exec(`INSERT INTO lanes (lane, epoch) VALUES (?, 0)`, l.kind) },
				func() error { return seal.Lanes.Again(c, "l.lane = ?", l.kind) })
			if err != nil {
				return err
			}
		}
		return rows.DropIndexFrom(c, l.kind, at)
	})
	if err == nil && unsound {
		l.dropped()
	}
	return err
}

// dropped forgets segments that were dropped from the database.
func (l *lane) dropped() {
	l.closeSegments()
	l.ix.mu.Lock()
	defer l.ix.mu.Unlock()
	l.sealed = 0
}
