package erase

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/state"
	"github.com/lossless-context/lcm/internal/record/sqldb/tombstone"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Forgotten implements [store.Eraser].
func (e Eraser) Forgotten(ctx context.Context, key string, in store.Project, ms iter.Seq[store.Fingerprint]) ([]bool, error) {
	erased := false
	err := e.DB.Reader(ctx, func(c sqldb.Conn) (err error) {
		erased, err = sqldb.Value[bool](c, `SELECT `+tombstone.Exist)
		return err
	})
	if err != nil || !erased {
		return nil, err
	}
	return sqldb.Read(ctx, e.DB, func(c sqldb.Conn) (out []bool, err error) {
		r, err := tombstone.Read(c, key, in, e.DB.Now())
		if err != nil || r.Keys == nil && !r.Any {
			return nil, err
		}
		history := slices.Collect(ms)
		seen := map[[sha256.Size]byte]int{}
		for i, f := range history {
			var before, after []byte
			if i > 0 {
				before = history[i-1].SHA256[:]
			}
			if i+1 < len(history) {
				after = history[i+1].SHA256[:]
			}
			refused, weak, times, err := r.Refuses(c, &tombstone.Identity{Fingerprint: f, Neighbours: tombstone.Neighbours(before, after)})
			if err != nil {
				return nil, err
			}
			if weak {
				seen[f.SHA256]++
				refused = seen[f.SHA256] <= times
			}
			out = append(out, refused)
		}
		return out, nil
	})
}

// Tombstones implements [store.Eraser].
func (e Eraser) Tombstones(ctx context.Context) ([]store.Tombstone, error) {
	return sqldb.Read(ctx, e.DB, func(c sqldb.Conn) ([]store.Tombstone, error) {
		all, err := sqldb.List(c, `SELECT id, cause, created_at, messages, bytes, finished FROM erasures ORDER BY id DESC`,
			func(s sqldb.Row) (t store.Tombstone) {
				sqldb.Scan(s, &t.ID, &t.Cause, &t.Time, &t.Messages, &t.Bytes, &t.Finished)
				return t
			})
		for i := range all {
			if err == nil {
				all[i].Sessions, err = sqldb.List(c, `SELECT key, messages, through FROM forgotten WHERE erasure = ? ORDER BY key`,
					func(s sqldb.Row) store.ForgottenSession {
						return store.ForgottenSession{Key: s.ColumnText(0), Messages: s.ColumnInt64(1), Through: sqldb.Millis(s, 2)}
					}, all[i].ID)
			}
			if err == nil {
				all[i].Damaged, err = seal.Broken(c, seal.Erasure(all[i].ID))
			}
		}
		return all, err
	})
}

// lifted are the statements that remove a tombstone. All transcripts are read
// again, because the tombstone applied to every session. A conversation that
// was erased whole gives its key back, so that it can be imported again.
var lifted = []string{
	`DELETE FROM tombstones WHERE erasure = ?1`,
	`UPDATE conversations SET key = 'lifted:' || CAST(id AS TEXT) WHERE ` + freesKey,
	`DELETE FROM forgotten WHERE erasure = ?1`,
	`DELETE FROM erasures WHERE id = ?1`,
}

// freesKey selects the conversations that give their key back.
const freesKey = `erased_at IS NOT NULL AND key IN (SELECT key FROM forgotten WHERE erasure = ?1) AND key NOT IN (SELECT key FROM forgotten WHERE erasure <> ?1)`

// Lift implements [store.Eraser].
func (e Eraser) Lift(ctx context.Context, id int64) error {
	return e.DB.Transact(ctx, func(c sqldb.Conn) error {
		finished := false
		found, err := c.One(`SELECT finished FROM erasures WHERE id = ?`, sqldb.Into(&finished), id)
		switch {
		case err != nil:
			return err
		case !found:
			return &hint.Error{Err: store.Missing(fmt.Sprintf("tombstone %d", id)), Hint: "`lcm forget --list` shows those that there are"}
		case !finished:
			return &hint.Error{Err: fmt.Errorf("erasure %d is not finished", id), Hint: "run `lcm forget --finish`, then lift it"}
		}
		if err := state.Clear(c, `space = ?`, store.CursorSpace); err != nil {
			return err
		}
		if err := seal.Conversations.Keep(c, freesKey, func() error { return c.ExecAll(lifted, id) }, id); err != nil {
			return err
		}
		return seal.Lifted(c, id)
	})
}
