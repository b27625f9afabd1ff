package erase

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/hint"
	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/state"
	"github.com/lossless-context/lcm/internal/sqlite/tombstone"
	"github.com/lossless-context/lcm/internal/store"
)

// Forgotten implements [store.Eraser].
func Forgotten(ctx context.Context, f *dbfile.File, key string, ms iter.Seq[store.Fingerprint]) ([]bool, error) {
	var out []bool
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		return c.Read(func() error {
			r, err := tombstone.Read(c, key, f.Now())
			if err != nil || r.Keys == nil && !r.Any {
				return err
			}
			history := slices.Collect(ms)
			seen := map[[sha256.Size]byte]int{}
			for i, f := range history {
				n := &tombstone.Identity{Fingerprint: f}
				var before, after []byte
				if i > 0 {
					before = history[i-1].SHA256[:]
				}
				if i+1 < len(history) {
					after = history[i+1].SHA256[:]
				}
				n.Neighbours = tombstone.Neighbours(before, after)
				refused, weak, times, err := r.Refuses(c, n)
				if err != nil {
					return err
				}
				if weak {
					seen[f.SHA256]++
					refused = seen[f.SHA256] <= times
				}
				out = append(out, refused)
			}
			return nil
		})
	})
	return out, err
}

// Tombstones implements [store.Eraser].
func Tombstones(ctx context.Context, f *dbfile.File) ([]store.Tombstone, error) {
	var all []store.Tombstone
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		return c.Read(func() error {
			at := map[int64]int{}
			err := c.Query(`SELECT id, cause, created_at, messages, bytes, finished FROM erasures ORDER BY id DESC`, func(s *sqlite3.Stmt) error {
				at[s.ColumnInt64(0)] = len(all)
				all = append(all, store.Tombstone{
					ID: s.ColumnInt64(0), Cause: s.ColumnText(1), Time: dbfile.Millis(s, 2), Messages: s.ColumnInt64(3), Bytes: s.ColumnInt64(4), Finished: s.ColumnBool(5),
				})
				return nil
			})
			if err != nil {
				return err
			}
			return c.Query(`SELECT erasure, key, messages, through FROM forgotten ORDER BY erasure, key`, func(s *sqlite3.Stmt) error {
				i, ok := at[s.ColumnInt64(0)]
				if !ok {
					return nil // damage, which doctor repairs
				}
				t := &all[i]
				t.Sessions = append(t.Sessions, store.ForgottenSession{Key: s.ColumnText(1), Messages: s.ColumnInt64(2), Through: dbfile.Millis(s, 3)})
				return nil
			})
		})
	})
	return all, err
}

// lifted are the statements that remove a tombstone. All transcripts are read
// again, because the tombstone applied to every session. A conversation that
// was erased whole gives its key back, so that it can be imported again.
var lifted = []string{
	`DELETE FROM tombstones WHERE erasure = ?1`,
	`UPDATE state SET expires = 0, data = x'' WHERE space = '` + state.CursorSpace + `' AND ?1`,
	`UPDATE conversations SET key = 'lifted:' || id WHERE erased_at IS NOT NULL AND key IN (SELECT key FROM forgotten WHERE erasure = ?1)
		AND key NOT IN (SELECT key FROM forgotten WHERE erasure <> ?1)`,
	`DELETE FROM forgotten WHERE erasure = ?1`,
}

// Lift implements [store.Eraser].
func Lift(ctx context.Context, f *dbfile.File, id int64) error {
	return f.Transact(ctx, func(c *dbfile.Conn) error {
		finished := false
		found, err := c.One(`SELECT finished FROM erasures WHERE id = ?`, func(s *sqlite3.Stmt) error { finished = s.ColumnBool(0); return nil }, id)
		switch {
		case err != nil:
			return err
		case !found:
			return &hint.Error{Err: store.Missing(fmt.Sprintf("tombstone %d", id)), Hint: "`lcm forget --list` shows those that there are"}
		case !finished:
			return &hint.Error{Err: fmt.Errorf("erasure %d is not finished", id), Hint: "run `lcm forget --finish`, then lift it"}
		}
		for _, sql := range lifted {
			if err := c.Exec(sql, id); err != nil {
				return err
			}
		}
		return c.Exec(`DELETE FROM erasures WHERE id = ?`, id)
	})
}
