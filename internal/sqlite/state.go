package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/store"
)

func scanValue(s *sqlite3.Stmt) store.Value {
	return store.Value{Key: s.ColumnText(0), Version: s.ColumnInt64(1), Expires: millis(s, 2), Data: s.ColumnBlob(3, nil)}
}

const liveValues = `SELECT key, version, expires, data FROM state WHERE space = ? AND (expires IS NULL OR expires > ?)`

// value reads a value that has not expired; its version is 0 if there is
// none.
func (c *conn) value(space, key string, now time.Time) (v store.Value, err error) {
	_, err = c.one(liveValues+` AND key = ?`, func(s *sqlite3.Stmt) error {
		v = scanValue(s)
		return nil
	}, space, now, key)
	return v, err
}

// Get implements [store.State].
func (db *DB) Get(ctx context.Context, space, key string) (v store.Value, err error) {
	err = db.withReader(ctx, func(c *conn) (err error) {
		v, err = c.value(space, key, db.opts.Clock())
		if err == nil && v.Version == 0 {
			err = store.Missing(space + "/" + key)
		}
		return err
	})
	return v, err
}

// Put implements [store.State].
func (db *DB) Put(ctx context.Context, space, key string, data []byte, version int64, expires time.Time) (int64, error) {
	var next int64
	err := db.transact(ctx, func(c *conn) error {
		if err := c.expect(space, key, version, db.opts.Clock()); err != nil {
			return err
		}
		// Versions go on across an expiry, so that a holder of the expired
		// value cannot mistake a new one for it.
		_, err := c.one(`
			INSERT INTO state (space, key, version, expires, data) VALUES (?, ?, 1, ?, ?)
			ON CONFLICT DO UPDATE SET version = version + 1, expires = excluded.expires, data = excluded.data
			RETURNING version`,
			func(s *sqlite3.Stmt) error { next = s.ColumnInt64(0); return nil }, space, key, expires, data)
		return err
	})
	return next, err
}

// Delete implements [store.State]. The version stays behind in an expired
// row, for the same reason as in Put.
func (db *DB) Delete(ctx context.Context, space, key string, version int64) error {
	return db.transact(ctx, func(c *conn) error { return c.delete(space, key, version, db.opts.Clock()) })
}

func (c *conn) delete(space, key string, version int64, now time.Time) error {
	if err := c.expect(space, key, version, now); err != nil {
		return err
	}
	return c.exec(`UPDATE state SET expires = 0, data = x'' WHERE space = ? AND key = ?`, space, key)
}

func (c *conn) expect(space, key string, version int64, now time.Time) error {
	v, err := c.value(space, key, now)
	if err == nil && v.Version != version {
		err = fmt.Errorf("%s/%s has version %d, not %d: %w", space, key, v.Version, version, store.ErrConflict)
	}
	return err
}

// List implements [store.State].
func (db *DB) List(ctx context.Context, space string) ([]store.Value, error) {
	var all []store.Value
	err := db.withReader(ctx, func(c *conn) error {
		return c.query(liveValues+` ORDER BY key`, func(s *sqlite3.Stmt) error {
			all = append(all, scanValue(s))
			return nil
		}, space, db.opts.Clock())
	})
	return all, err
}
