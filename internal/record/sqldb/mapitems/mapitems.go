// Package mapitems keeps the unfinished maps of [store.Maps]. The items of a map are rows of
// their own, which one statement claims; the row of the map has the sums.
package mapitems

import (
	"context"
	"errors"
	"fmt"
	"iter"

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
		var job []byte
		known, err := c.One(`SELECT id, job FROM map_runs WHERE conversation = ? AND key = ?`, sqldb.Into(&run, &job), int64(id), m.Key)
		if err != nil {
			return err
		}
		if known {
			if string(job) != string(m.Job[:]) {
				return fmt.Errorf("the map %q is one of another job: %w", m.Key, store.ErrConflict)
			}
			return nil
		}
		run, err = c.Insert("id", `INSERT INTO map_runs (conversation, key, job, items) VALUES (?, ?, ?, ?)`, int64(id), m.Key, m.Job[:], m.Items)
		if err != nil {
			return err
		}
		numbers := make([]int64, m.Items)
		for i := range numbers {
			numbers[i] = int64(i)
		}
		return c.Exec(`INSERT INTO map_items (run, n) SELECT m.id, j.value FROM map_runs m, json_each(?) j WHERE m.id = ?`, numbers, run)
	})
	return run, err
}

// StepMap implements [store.Maps].
func (t Maps) StepMap(ctx context.Context, id store.ConversationID, run int64, s store.MapStep) (state store.MapState, err error) {
	err = t.DB.TransactOn(ctx, fmt.Sprint("map/", id), func(c sqldb.Conn) error {
		until := t.DB.Now().Add(s.Lease)
		if err := settle(c, run, s); err != nil {
			return err
		}
		for _, n := range s.Hold {
			if err := c.Exec(`UPDATE map_items SET lease = ? WHERE run = ? AND n = ? AND owner = ?`, until, run, n, s.Owner); err != nil {
				return err
			}
		}
		state = store.MapState{}
		known, err := c.One(`SELECT items, done, failed, attempts, tokens_in, tokens_out FROM map_runs WHERE id = ? AND conversation = ?`,
			sqldb.Into(&state.Items, &state.Done, &state.Failed, &state.Attempts, &state.Usage.InputTokens, &state.Usage.OutputTokens), run, int64(id))
		if err == nil && !known {
			err = store.Missing("the map")
		}
		if err != nil || s.Claim == 0 || s.Budget > 0 && state.Usage.Total() >= s.Budget {
			return err
		}
		return c.Query(`WITH free AS MATERIALIZED (
				SELECT n FROM map_items WHERE run = ?1 AND status < 2 AND (status = 0 OR lease < ?2) ORDER BY n LIMIT ?3`+c.Dialect().SkipLocked+`)
			UPDATE map_items SET status = 1, owner = ?4, lease = ?5 WHERE run = ?1 AND n IN (SELECT n FROM free) RETURNING n, attempts`,
			func(r sqldb.Row) error {
				state.Claimed = append(state.Claimed, store.MapItem{N: r.ColumnInt(0), Status: store.MapRuns, Attempts: r.ColumnInt(1)})
				return nil
			}, run, t.DB.Now(), s.Claim, s.Owner, until)
	})
	return state, err
}

// settle writes the results of a process.
func settle(c sqldb.Conn, run int64, s store.MapStep) error {
	var sum store.MapState
	for _, item := range s.Settle {
		n, err := c.Update(`UPDATE map_items SET status = ?, attempts = attempts + ?, output = ?, error = ?,
				tokens_in = tokens_in + ?, tokens_out = tokens_out + ?, owner = NULL, lease = NULL
			WHERE run = ? AND n = ? AND owner = ?`,
			int(item.Status), item.Attempts, sqldb.Null(item.Output), sqldb.Null(item.Error), item.Usage.InputTokens, item.Usage.OutputTokens,
			run, item.N, s.Owner)
		if err != nil {
			return err
		}
		sum.Attempts += item.Attempts
		sum.Usage = sum.Usage.Add(item.Usage)
		switch {
		case n > 0 && item.Status == store.MapDone:
			sum.Done++
		case n > 0 && item.Status == store.MapFailed:
			sum.Failed++
		}
	}
	if len(s.Settle) == 0 {
		return nil
	}
	return c.Exec(`UPDATE map_runs SET done = done + ?, failed = failed + ?, attempts = attempts + ?, tokens_in = tokens_in + ?, tokens_out = tokens_out + ? WHERE id = ?`,
		sum.Done, sum.Failed, sum.Attempts, sum.Usage.InputTokens, sum.Usage.OutputTokens, run)
}

// MapItems implements [store.Maps].
func (t Maps) MapItems(ctx context.Context, id store.ConversationID, run int64) iter.Seq2[store.MapItem, error] {
	return func(yield func(store.MapItem, error) bool) {
		err := t.DB.Reader(ctx, func(c sqldb.Conn) error {
			return c.Stream(`SELECT i.n, i.status, i.attempts, i.output, i.error, i.tokens_in, i.tokens_out FROM map_items i
				JOIN map_runs m ON m.id = i.run WHERE i.run = ? AND m.conversation = ? AND i.status >= 2 ORDER BY i.n`, func(r sqldb.Row) error {
				var i store.MapItem
				sqldb.Scan(r, &i.N, &i.Status, &i.Attempts, &i.Output, &i.Error, &i.Usage.InputTokens, &i.Usage.OutputTokens)
				if !yield(i, nil) {
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
	if err := c.Exec(`DELETE FROM map_items WHERE run IN (SELECT id FROM map_runs WHERE `+where+`)`, args...); err != nil {
		return err
	}
	return c.Exec(`DELETE FROM map_runs WHERE `+where, args...)
}
