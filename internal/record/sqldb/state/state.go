// Package state keeps the small values of [store.State]: cursors of hosts, leases
// and counters. Every value has a version, and a write names the version that it
// replaces.
package state

import (
	"context"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

func scanValue(s sqldb.Row) store.Value {
	return store.Value{Key: s.ColumnText(0), Version: s.ColumnInt64(1), Expires: sqldb.Millis(s, 2), Data: s.ColumnBlob(3, nil)}
}

const liveValues = `SELECT key, version, expires, data FROM state WHERE space = ? AND (expires IS NULL OR expires > ?)`

// readValue reads a value that has not expired; its version is 0 if there is
// none.
func readValue(c sqldb.Conn, space, key string, now time.Time) (v store.Value, err error) {
	_, err = c.One(liveValues+` AND key = ?`, func(s sqldb.Row) error {
		v = scanValue(s)
		return nil
	}, space, now, key)
	return v, err
}

// Table is the [store.State] of a database.
type Table struct{ DB sqldb.DB }

// Get implements [store.State].
func (t Table) Get(ctx context.Context, space, key string) (store.Value, error) {
	return sqldb.Read(ctx, t.DB, func(c sqldb.Conn) (store.Value, error) {
		v, err := readValue(c, space, key, t.DB.Now())
		if err == nil && v.Version == 0 {
			err = store.Missing(space + "/" + key)
		}
		return v, err
	})
}

// Put implements [store.State].
func (t Table) Put(ctx context.Context, space, key string, data []byte, version int64, expires time.Time) (next int64, err error) {
	if _, err := store.SpaceNamed(space); err != nil {
		return 0, err
	}
	err = t.DB.TransactOn(ctx, lockOf(space, key), func(c sqldb.Conn) error {
		if err := expectVersion(c, space, key, version, t.DB.Now()); err != nil {
			return err
		}
		// Versions go on across an expiry, so that a holder of the expired
		// value cannot mistake a new one for it.
		next, err = sqldb.Value[int64](c, `
			INSERT INTO state (space, key, version, expires, data) VALUES (?, ?, 1, ?, ?)
			ON CONFLICT (space, key) DO UPDATE SET version = state.version + 1, expires = excluded.expires, data = excluded.data
			RETURNING version`, space, key, expires, data)
		return err
	})
	return next, err
}

// Delete implements [store.State]. The version stays behind in an expired
// row, for the same reason as in Put.
func (t Table) Delete(ctx context.Context, space, key string, version int64) error {
	return t.DB.TransactOn(ctx, lockOf(space, key), func(c sqldb.Conn) error { return DeleteIn(c, space, key, version, t.DB.Now()) })
}

// DeleteIn is Delete inside a transaction.
func DeleteIn(c sqldb.Conn, space, key string, version int64, now time.Time) error {
	if err := expectVersion(c, space, key, version, now); err != nil {
		return err
	}
	return c.Exec(`UPDATE state SET expires = 0, data = ? WHERE space = ? AND key = ?`, []byte{}, space, key)
}

// lockOf names the lock of a value.
func lockOf(space, key string) string { return "state/" + space + "/" + key }

// expectVersion fails unless a value has a version. Until the transaction ends, no
// other changes the value.
func expectVersion(c sqldb.Conn, space, key string, version int64, now time.Time) error {
	if err := sqldb.LockName(c, lockOf(space, key)); err != nil {
		return err
	}
	v, err := readValue(c, space, key, now)
	if err == nil && v.Version != version {
		err = fmt.Errorf("%s/%s has version %d, not %d: %w", space, key, v.Version, version, store.ErrConflict)
	}
	return err
}

// List implements [store.State].
func (t Table) List(ctx context.Context, space string) ([]store.Value, error) {
	return sqldb.Read(ctx, t.DB, func(c sqldb.Conn) ([]store.Value, error) {
		return sqldb.List(c, liveValues+` ORDER BY key`, scanValue, space, t.DB.Now())
	})
}
