// Package mapitems keeps the unfinished maps of [store.Maps]. The items of a map are rows of
// their own. A step locks the row of its map, so that the steps of several processes run one
// after the other. Progress is counted from the items.
//
// Every row has a seal. A row that is not as it was written ends the work on its map with
// [store.ErrDamaged]; [Repair] has its item asked about again.
package mapitems

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Maps is the [store.Maps] of a database.
type Maps struct{ DB sqldb.DB }

// StartMap implements [store.Maps].
func (t Maps) StartMap(ctx context.Context, id store.ConversationID, m store.NewMap) (run int64, err error) {
	err = t.DB.TransactOn(ctx, fmt.Sprint("map/", id), func(c sqldb.Conn) error {
		if err := sqldb.LockName(c, fmt.Sprint("map/", id)); err != nil {
			return err
		}
		known, err := lockRun(c, `c.conversation = ? AND c.key = ?`, int64(id), m.Key)
		if err != nil {
			return err
		}
		if run = known.id; run != 0 {
			if string(known.job) != string(m.Job[:]) {
				return fmt.Errorf("the map %q is one of another job: %w", m.Key, store.ErrConflict)
			}
			return sqldb.Steps(func() error { return intact(c, "i.run = ?", run) }, func() error { return complete(c, known, t.DB.Now()) })
		}
		run, err = c.Insert("id", `INSERT INTO map_runs (conversation, key, job, items) VALUES (?, ?, ?, ?)`, int64(id), m.Key, m.Job[:], m.Items)
		if err == nil {
			err = sqldb.Steps(func() error { return seal.MapRuns.Again(c, "r.id = ?", run) }, func() error { return seal.Started(c, run) })
		}
		for n := 0; n < m.Items && err == nil; n++ {
			err = item{MapItem: store.MapItem{N: n}}.put(c, run)
		}
		for _, done := range m.Done {
			if err == nil {
				err = item{MapItem: done}.put(c, run)
			}
		}
		return err
	})
	return run, err
}

// StepMap implements [store.Maps].
func (t Maps) StepMap(ctx context.Context, id store.ConversationID, run int64, s store.MapStep) (state store.MapState, err error) {
	err = t.DB.TransactOn(ctx, fmt.Sprint("map/", id), func(c sqldb.Conn) error {
		known, err := lockRun(c, `c.id = ? AND c.conversation = ?`, run, int64(id))
		if err == nil && known.id == 0 {
			err = store.Missing("the map")
		}
		if err == nil {
			state, err = settle(c, run, s, t.DB.Now().Add(s.Lease))
		}
		if err == nil && s.Known == nil {
			state, err = count(c, known)
		}
		if err == nil && s.Claim > 0 && (s.Budget == 0 || state.Usage.Total() < s.Budget) {
			state.Claimed, err = claim(c, known, s, t.DB.Now())
		}
		if err == nil && s.Known != nil && len(state.Claimed)+len(s.Hold) == 0 {
			state, err = count(c, known)
		}
		return err
	})
	return state, err
}

// settle writes the results of a process, and renews its leases. Whoever has an item now, what
// was spent on it is added. state is the known one with what was settled.
func settle(c sqldb.Conn, run int64, s store.MapStep, until time.Time) (state store.MapState, err error) {
	if s.Known != nil {
		state = *s.Known
		state.Claimed = nil
	}
	results := map[int64]store.MapItem{}
	var numbers []int64
	for _, r := range s.Settle {
		results[int64(r.N)], numbers = r, append(numbers, int64(r.N))
	}
	for _, n := range s.Hold {
		numbers = append(numbers, int64(n))
	}
	if len(numbers) == 0 {
		return state, nil
	}
	rows, err := read(c, `i.run = ? AND i.n IN (SELECT j.value FROM json_each(?) j)`, run, numbers)
	if err != nil {
		return state, err
	}
	err = sqldb.Each(rows, func(row item) error {
		result, settled := results[int64(row.N)]
		switch mine := row.owner == s.Owner; {
		case settled:
			row.Attempts, row.Usage = row.Attempts+result.Attempts, row.Usage.Add(result.Usage)
			state.Attempts, state.Usage = state.Attempts+result.Attempts, state.Usage.Add(result.Usage)
			switch {
			case mine && result.Status == store.MapDone:
				state.Done++
			case mine && result.Status == store.MapFailed:
				state.Failed++
			}
			if mine {
				row.Status, row.Output, row.Error, row.owner, row.lease = result.Status, result.Output, result.Error, "", time.Time{}
			}
		case mine && until.Sub(row.lease) > s.Lease/4: // not on every step
			row.lease = until
		default:
			return nil
		}
		return row.put(c, run)
	})
	return state, err
}

// freeItems selects the items of a map that nobody works on, by an index.
const freeItems = `SELECT n FROM map_items WHERE run = ?1 AND status < 2 AND (status = 0 OR lease < ?2) ORDER BY n LIMIT ?3`

// claim takes items that nobody works on. Where there are too few, others have the rest.
func claim(c sqldb.Conn, r run, s store.MapStep, now time.Time) (claimed []store.MapItem, err error) {
	// The index has the numbers alone; with the other columns SQLite would read all items.
	free, err := read(c, `i.run = ?1 AND i.n IN (`+freeItems+`) ORDER BY i.n`, r.id, now, s.Claim)
	if err == nil && len(free) < s.Claim {
		err = intact(c, "i.run = ? AND i.status < 2", r.id)
	}
	if err == nil && len(free)+len(s.Hold) == 0 { // it would wait for others
		err = complete(c, r, now)
	}
	for _, row := range free {
		if err != nil {
			break
		}
		row.Status, row.owner, row.lease = store.MapRuns, s.Owner, now.Add(s.Lease)
		claimed, err = append(claimed, store.MapItem{N: row.N, Status: row.Status, Attempts: row.Attempts}), row.put(c, r.id)
	}
	return claimed, err
}

// count counts how far a map is.
func count(c sqldb.Conn, r run) (s store.MapState, err error) {
	s.Items = r.items
	open := 0
	err = c.Query(`SELECT status, count(*), sum(attempts), sum(tokens_in), sum(tokens_out) FROM map_items WHERE run = ? GROUP BY status`, func(row sqldb.Row) error {
		var status store.MapStatus
		var n, attempts, in, out int
		sqldb.Scan(row, &status, &n, &attempts, &in, &out)
		s.Attempts += attempts
		s.Usage.InputTokens, s.Usage.OutputTokens = s.Usage.InputTokens+in, s.Usage.OutputTokens+out
		switch status {
		case store.MapDone:
			s.Done = n
		case store.MapFailed:
			s.Failed = n
		case store.MapWaits, store.MapRuns:
			open += n
		}
		return nil
	}, r.id)
	if err == nil && s.Open() != open {
		err = damaged("the list of items")
	}
	return s, err
}

// MapItems implements [store.Maps].
func (t Maps) MapItems(ctx context.Context, id store.ConversationID, run int64) iter.Seq2[store.MapItem, error] {
	return func(yield func(store.MapItem, error) bool) {
		err := t.DB.Reader(ctx, func(c sqldb.Conn) error {
			return c.Stream(`SELECT `+seal.MapItems.Columns()+` FROM map_items i
				JOIN map_runs m ON m.id = i.run WHERE i.run = ? AND m.conversation = ? AND i.status >= 2 ORDER BY i.n`, func(r sqldb.Row) error {
				row := scan(r)
				if !row.holds {
					return damaged(fmt.Sprint("item ", row.N))
				}
				if !yield(row.MapItem, nil) {
					return sqldb.ErrStop
				}
				return nil
			}, run, int64(id))
		})
		if err != nil && !errors.Is(err, sqldb.ErrStop) {
			yield(store.MapItem{}, err)
		}
	}
}

// EndMap implements [store.Maps].
func (t Maps) EndMap(ctx context.Context, id store.ConversationID, key string) error {
	return t.DB.TransactOn(ctx, fmt.Sprint("map/", id), func(c sqldb.Conn) error {
		return End(c, `conversation = ? AND key = ?`, int64(id), key)
	})
}

// End removes the maps that meet a condition, inside a transaction.
func End(c sqldb.Conn, where string, args ...any) error {
	runs, err := sqldb.Column[int64](c, `SELECT c.id FROM map_runs c WHERE `+where+` ORDER BY c.id`+c.Dialect().ForUpdate, args...)
	if err != nil {
		return err
	}
	return sqldb.Each(runs, func(run int64) error {
		err := c.ExecAll([]string{`DELETE FROM map_items WHERE run = ?`, `DELETE FROM map_runs WHERE id = ?`}, run)
		if err == nil {
			err = seal.Ended(c, run)
		}
		return err
	})
}

// Repair has the items asked about again that are not as they were written, and ends the maps
// of which that is so.
func Repair(c sqldb.Conn) error {
	broken, err := seal.MapRuns.Broken(c, "TRUE")
	for _, key := range broken {
		err = errors.Join(err, End(c, "id = ?", key...))
	}
	if err == nil {
		err = End(c, `conversation NOT IN (SELECT id FROM conversations)`)
	}
	if err == nil {
		err = c.ExecAll([]string{
			`DELETE FROM map_items WHERE run NOT IN (SELECT id FROM map_runs)`,
			`DELETE FROM map_items WHERE n < 0 OR n >= (SELECT r.items FROM map_runs r WHERE r.id = map_items.run)`,
		})
	}
	if err != nil {
		return err
	}
	items, err := seal.MapItems.Broken(c, "TRUE")
	for _, key := range items {
		err = errors.Join(err, c.Exec(`DELETE FROM map_items WHERE run = ? AND n = ?`, key...))
	}
	if err != nil {
		return err
	}
	runs, err := sqldb.List(c, seal.IncompleteMaps, func(s sqldb.Row) run { return run{id: s.ColumnInt64(0), items: s.ColumnInt(1)} })
	for _, r := range runs {
		for n := 0; n < r.items && err == nil; n++ {
			var have bool
			if have, err = c.Has(`SELECT 1 FROM map_items WHERE run = ? AND n = ?`, r.id, n); err == nil && !have {
				err = item{MapItem: store.MapItem{N: n}}.put(c, r.id)
			}
		}
	}
	if err != nil {
		return err
	}
	return seal.Set(c, seal.Maps)
}

// run is the row of a map.
type run struct {
	id    int64 // 0: there is none
	job   []byte
	items int
}

// lockRun reads the row of a map, and keeps other transactions from it.
func lockRun(c sqldb.Conn, where string, args ...any) (r run, err error) {
	_, err = c.One(`SELECT c.id, c.conversation, c.key, c.job, c.items, c.seal FROM map_runs c WHERE `+where+c.Dialect().ForUpdate, func(s sqldb.Row) error {
		r = run{s.ColumnInt64(0), s.ColumnBlob(3, nil), s.ColumnInt(4)}
		if !seal.MapRuns.Holds(s, 0) {
			return damaged("its row")
		}
		return nil
	}, args...)
	return r, err
}

// item is the row of an item.
type item struct {
	store.MapItem
	owner string
	lease time.Time
	holds bool // it is as it was written
}

func scan(s sqldb.Row) (i item) {
	var run int64
	sqldb.Scan(s, &run, &i.N, &i.Status, &i.Attempts, &i.owner, &i.lease, &i.Output, &i.Error, &i.Usage.InputTokens, &i.Usage.OutputTokens)
	i.holds = seal.MapItems.Holds(s, 0)
	return i
}

// put writes a row.
func (i item) put(c sqldb.Conn, run int64) error {
	return c.Exec(seal.MapItems.Insert()+` ON CONFLICT (run, n) DO UPDATE SET status = excluded.status, attempts = excluded.attempts, owner = excluded.owner, lease = excluded.lease,
		output = excluded.output, error = excluded.error, tokens_in = excluded.tokens_in, tokens_out = excluded.tokens_out, seal = excluded.seal`,
		seal.MapItems.Row(run, i.N, int(i.Status), i.Attempts, sqldb.Null(i.owner), i.lease, sqldb.Null(i.Output), sqldb.Null(i.Error), i.Usage.InputTokens, i.Usage.OutputTokens)...)
}

// read reads items, which must be as they were written.
func read(c sqldb.Conn, where string, args ...any) ([]item, error) {
	rows, err := sqldb.List(c, `SELECT `+seal.MapItems.Columns()+` FROM map_items i WHERE `+where, scan, args...)
	for _, row := range rows {
		if err == nil && !row.holds {
			err = damaged(fmt.Sprint("item ", row.N))
		}
	}
	return rows, err
}

// intact fails unless items are as they were written.
func intact(c sqldb.Conn, where string, args ...any) error {
	broken, err := seal.MapItems.Broken(c, where, args...)
	if err == nil && len(broken) > 0 {
		err = damaged(fmt.Sprint("item ", broken[0][1]))
	}
	return err
}

// complete fails unless the table has all items of a map, and the indexes that items are claimed
// and counted by have them too: without it a process would wait for an item that nobody has.
func complete(c sqldb.Conn, r run, now time.Time) error {
	var items, open, waiting, listed int
	_, err := c.One(`SELECT count(seal), count(CASE WHEN status < 2 THEN seal END), count(CASE WHEN status = 0 OR status = 1 AND lease < ?2 THEN seal END)
		FROM map_items WHERE run = ?1`, sqldb.Into(&items, &open, &waiting), r.id, now) // seals are in no index
	if err == nil {
		_, err = c.One(`SELECT count(*) FROM (`+freeItems+`) f`, sqldb.Into(&listed), r.id, now, r.items)
	}
	if err != nil {
		return err
	}
	state, err := count(c, r)
	if err == nil && (items != r.items || open != state.Open() || waiting != listed) {
		err = damaged("the list of items")
	}
	return err
}

func damaged(what string) error {
	return &hint.Error{Err: fmt.Errorf("%s of the map is %w", what, store.ErrDamaged),
		Hint: "`lcm doctor --fix` has such items asked about again; another key begins anew"}
}
