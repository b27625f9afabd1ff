// Package transfer copies a whole record from one database to another, of the same kind
// or not: messages, payloads, summaries, views, branches, erasures and state, with their
// ids. The search index is built again.
//
// [Copy] copies messages and payloads in steps, each a transaction of the target, and
// everything else in a last step from one state of the source. A copy that was
// interrupted goes on where it stopped. Until the last step the target shows no
// conversation.
package transfer

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/record"
	"github.com/lossless-context/lcm/internal/record/sqldb/tombstone"
	"github.com/lossless-context/lcm/internal/record/store"
)

// key is the key of the value in [store.TransferSpace] that marks a target of an
// unfinished copy, and names the source.
const key = "source"

// step is how many rows a transaction of the target adds, and stepBytes about how many
// bytes.
const (
	step      = 2000
	stepBytes = 8 << 20
)

// Copy copies the record of one database into another, which must be empty or the target
// of an interrupted copy of the same source. progress is called with the messages that
// were copied, and how many there are.
func Copy(ctx context.Context, from, to sqldb.DB, progress func(done, total int64)) error {
	source, err := sqldb.Read(ctx, from, identity)
	if err != nil {
		return err
	}
	done, err := begin(ctx, to, source)
	if err != nil {
		return err
	}
	total, err := sqldb.Read(ctx, from, func(c sqldb.Conn) (int64, error) { return sqldb.Value[int64](c, `SELECT count(*) FROM messages`) })
	if err != nil {
		return err
	}
	for {
		progress(done, total)
		n, err := copyStep(ctx, from, to)
		if err != nil {
			return err
		}
		if done += n; n == 0 {
			break
		}
	}
	if err := finish(ctx, from, to); err != nil {
		return err
	}
	progress(done, max(done, total))
	return nil
}

// identity names a database by its first salt, which no other has.
func identity(c sqldb.Conn) (string, error) {
	u, err := tombstone.ReadHasher(c)
	if errors.Is(err, store.ErrNotFound) {
		return "without a salt", nil // it is damaged
	}
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(u.Salts[0][:min(8, len(u.Salts[0]))]), nil
}

// begin marks the target, or finds its mark. It returns how many messages it has.
func begin(ctx context.Context, to sqldb.DB, source string) (done int64, err error) {
	err = to.Transact(ctx, func(c sqldb.Conn) error {
		own, err := identity(c)
		if err != nil {
			return err
		}
		mark, err := sqldb.Value[string](c, `SELECT data FROM state WHERE space = ? AND key = ?`, store.TransferSpace, key)
		if err != nil {
			return err
		}
		used, err := c.Has(`SELECT 1 FROM conversations UNION ALL SELECT 1 FROM erasures UNION ALL SELECT 1 FROM messages LIMIT 1`)
		if err != nil {
			return err
		}
		switch {
		case own == source:
			return &hint.Error{Err: errors.New("both are the same database, or one is a copy of the other"), Hint: "name an empty database, or a file that does not exist yet"}
		case mark == source:
			done, err = sqldb.Value[int64](c, `SELECT count(*) FROM messages`)
			return err
		case mark != "":
			return &hint.Error{Err: errors.New("the target holds an interrupted copy of another database"), Hint: "go on with that copy, or name an empty database"}
		case used:
			return &hint.Error{Err: errors.New("the target is not empty"), Hint: "name an empty database, or a file that does not exist yet"}
		}
		return c.Exec(`INSERT INTO state (space, key, version, data) VALUES (?, ?, 1, ?)`, store.TransferSpace, key, []byte(source))
	})
	return done, err
}

// copyStep copies the next messages and payloads, and returns how many rows.
func copyStep(ctx context.Context, from, to sqldb.DB) (rows int64, err error) {
	err = from.Snapshot(ctx, func(src sqldb.Conn, settled sqldb.Settled) error {
		return to.Transact(ctx, func(dst sqldb.Conn) (err error) {
			if rows, err = copyPayloads(src, dst, step); err != nil {
				return err
			}
			last, err := sqldb.Value[int64](dst, `SELECT max(id) FROM messages`)
			if err != nil {
				return err
			}
			n, err := copyRows(src, dst, messages, step, "id > ? AND id <= ?", last, settled.Messages)
			rows += n
			return err
		})
	})
	return rows, err
}

// copyPayloads copies the payloads that the target lacks. Numbers are taken in order of
// transactions, so that one may appear below others; it is looked for by its number.
func copyPayloads(src, dst sqldb.Conn, most int) (rows int64, err error) {
	last, err := sqldb.Value[int64](dst, `SELECT max(num) FROM payloads`)
	if err != nil {
		return 0, err
	}
	nums, err := sqldb.Column[int64](src, `SELECT num FROM payloads WHERE num > ? ORDER BY num LIMIT ?`, last, most/100)
	if err != nil {
		return 0, err
	}
	return int64(len(nums)), sqldb.Each(nums, func(num int64) error { return copyPayload(src, dst, num) })
}

func copyPayload(src, dst sqldb.Conn, num int64) error {
	if _, err := copyRows(src, dst, payloads, 1, "num = ?", num); err != nil {
		return err
	}
	_, err := copyRows(src, dst, chunks, math.MaxInt, "payload = ?", num)
	return err
}

// copyRows copies the rows of a table that a condition selects, at most so many.
func copyRows(src, dst sqldb.Conn, t table, most int, where string, args ...any) (rows int64, err error) {
	bytes := 0
	err = src.Stream(t.selects(where), func(s sqldb.Row) error {
		if rows == int64(most) || most == step && bytes > stepBytes {
			return sqldb.ErrStop
		}
		values := make([]any, len(t.columns))
		for i := range values {
			if t.isBool(i) {
				values[i] = s.ColumnBool(i)
				continue
			}
			values[i] = s.ColumnValue(i)
			if b, ok := values[i].([]byte); ok {
				bytes += len(b)
			}
		}
		rows++
		return dst.Exec(t.inserts(), values...)
	}, args...)
	if errors.Is(err, sqldb.ErrStop) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("copy %s: %w", t.name, err)
	}
	return rows, err
}

// finish copies everything that is left from one state of the source, in one transaction
// of the target, and removes the mark.
func finish(ctx context.Context, from, to sqldb.DB) error {
	return from.Reader(ctx, func(src sqldb.Conn) error {
		return src.Read(func() error {
			return to.Transact(ctx, func(dst sqldb.Conn) error { return copyRest(src, dst) })
		})
	})
}

func copyRest(src, dst sqldb.Conn) error {
	if err := copyMissing(src, dst); err != nil {
		return err
	}
	for _, t := range rest {
		if err := dst.Exec("DELETE FROM " + t.name); err != nil {
			return err
		}
		where, args := "TRUE", []any(nil)
		if t.name == "state" { // leases are those of processes that work on the source
			where, args = "space <> ? AND space <> ?", []any{store.LeaseSpace, store.TransferSpace}
		}
		if _, err := copyRows(src, dst, t, math.MaxInt, where, args...); err != nil {
			return err
		}
	}
	return dst.ExecAll(dst.Dialect().AfterCopy)
}

// copyMissing copies the messages and payloads that were added since the last step, also
// those below others, and removes those that are gone.
func copyMissing(src, dst sqldb.Conn) error {
	for _, t := range []table{payloads, messages} {
		id := t.columns[0]
		list, err := sqldb.Column[int64](dst, "SELECT "+id+" FROM "+t.name+" ORDER BY 1")
		if err != nil {
			return err
		}
		wanted, err := sqldb.Column[int64](src, "SELECT "+id+" FROM "+t.name+" ORDER BY 1")
		if err != nil {
			return err
		}
		if slices.Equal(list, wanted) {
			continue
		}
		have := map[int64]bool{}
		for _, n := range list {
			have[n] = true
		}
		for _, n := range wanted {
			if have[n] {
				delete(have, n)
				continue
			}
			if t.name == payloads.name {
				err = copyPayload(src, dst, n)
			} else {
				_, err = copyRows(src, dst, t, 1, "id = ?", n)
			}
			if err != nil {
				return err
			}
		}
		for n := range have {
			if err := dst.Exec("DELETE FROM "+t.name+" WHERE "+id+" = ?", n); err != nil {
				return err
			}
			if t.name == payloads.name {
				if err := dst.Exec(`DELETE FROM chunks WHERE payload = ?`, n); err != nil {
					return err
				}
			}
		}
	}
	return copyChanged(src, dst)
}

// copyChanged copies the messages again that were erased or masked since they were
// copied. Their link of the chain, their flags or their record differ.
func copyChanged(src, dst sqldb.Conn) error {
	var ids, masked []int64
	marked := `SELECT id, conversation, flags FROM messages WHERE ` + record.AnyFlag(store.FlagErased|store.FlagMasked) + ` ORDER BY id`
	err := src.Query(marked, func(s sqldb.Row) error {
		ids = append(ids, s.ColumnInt64(0))
		if store.Flag(s.ColumnInt64(2))&store.FlagMasked != 0 {
			masked = append(masked, s.ColumnInt64(1))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := dst.Exec(`DELETE FROM messages WHERE id = ?`, id); err != nil {
			return err
		}
		if _, err := copyRows(src, dst, messages, 1, "id = ?", id); err != nil {
			return err
		}
	}
	// Masking changes the links of the messages after it.
	slices.Sort(masked)
	return sqldb.Each(slices.Compact(masked), func(conversation int64) error {
		return src.Stream(`SELECT id, chain FROM messages WHERE conversation = ? ORDER BY seq`, func(s sqldb.Row) error {
			return dst.Exec(`UPDATE messages SET chain = ? WHERE id = ? AND chain <> ?`, s.ColumnBlob(1, nil), s.ColumnInt64(0), s.ColumnBlob(1, nil))
		}, conversation)
	})
}
