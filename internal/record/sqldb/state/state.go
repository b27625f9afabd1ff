// Package state keeps the small values of [store.State]: cursors of hosts, leases
// and counters. Every value has a version, and a write names the version that it
// replaces.
package state

import (
	"context"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

func scanValue(s sqldb.Row) store.Value {
	return store.Value{Key: s.ColumnText(1), Version: s.ColumnInt64(2), Expires: sqldb.Millis(s, 3), Data: s.ColumnBlob(4, nil)}
}

// live reports whether a value has not expired.
func live(v store.Value, now time.Time) bool { return v.Expires.IsZero() || v.Expires.After(now) }

// read reads a value, also one that has expired; its version is 0 if there is none.
func read(c sqldb.Conn, space, key string) (v store.Value, err error) {
	_, err = c.One(`SELECT space, key, version, expires, data FROM state WHERE space = ? AND key = ?`, func(s sqldb.Row) error {
		v = scanValue(s)
		return nil
	}, space, key)
	return v, err
}

// Table is the [store.State] of a database.
type Table struct{ DB sqldb.DB }

// Get implements [store.State].
func (t Table) Get(ctx context.Context, space, key string) (store.Value, error) {
	return sqldb.Read(ctx, t.DB, func(c sqldb.Conn) (store.Value, error) {
		v, err := read(c, space, key)
		if err == nil && (v.Version == 0 || !live(v, t.DB.Now())) {
			v, err = store.Value{}, store.Missing(space+"/"+key)
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
		old, err := expectVersion(c, space, key, version, t.DB.Now())
		if err == nil && old == 0 {
			err = seal.Noted(c, space, key)
		}
		if err != nil {
			return err
		}
		// Versions go on across an expiry, so that a holder of the expired
		// value cannot mistake a new one for it.
		next = old + 1
		return c.Exec(seal.State.Insert()+` ON CONFLICT (space, key) DO UPDATE
			SET version = excluded.version, expires = excluded.expires, data = excluded.data, seal = excluded.seal`,
			seal.State.Row(space, key, next, expires, data)...)
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
	if _, err := expectVersion(c, space, key, version, now); err != nil {
		return err
	}
	return Clear(c, `space = ? AND key = ?`, space, key)
}

// Clear deletes the values that meet a condition, inside a transaction.
func Clear(c sqldb.Conn, where string, args ...any) error {
	return seal.State.Keep(c, where, func() error {
		return c.Exec(`UPDATE state SET expires = 0, data = ? WHERE `+where, append([]any{[]byte{}}, args...)...)
	}, args...)
}

// lockOf names the lock of a value.
func lockOf(space, key string) string { return "state/" + space + "/" + key }

// expectVersion fails unless a value has a version, and returns that of its row. Until the
// transaction ends, no other changes the value.
func expectVersion(c sqldb.Conn, space, key string, version int64, now time.Time) (int64, error) {
	if err := sqldb.LockName(c, lockOf(space, key)); err != nil {
		return 0, err
	}
	v, err := read(c, space, key)
	if err != nil {
		return 0, err
	}
	have := int64(0)
	if live(v, now) {
		have = v.Version
	}
	if have != version {
		return 0, fmt.Errorf("%s/%s has version %d, not %d: %w", space, key, have, version, store.ErrConflict)
	}
	return v.Version, nil
}

// List implements [store.State].
func (t Table) List(ctx context.Context, space string) ([]store.Value, error) {
	return sqldb.Read(ctx, t.DB, func(c sqldb.Conn) ([]store.Value, error) {
		return sqldb.List(c, `SELECT space, key, version, expires, data FROM state WHERE space = ? AND (expires IS NULL OR expires > ?) ORDER BY key`, scanValue, space, t.DB.Now())
	})
}
