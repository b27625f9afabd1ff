package scale

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/store/sqlite"
)

// insertByHand copies the rows of a database into a fresh one of the same
// schema by plain inserts, and returns how long the inserts took. Reading the
// rows is not counted.
func insertByHand(ctx context.Context, from, to string) (took time.Duration, err error) {
	empty, err := sqlite.Open(ctx, to, sqlite.Options{})
	if err != nil {
		return 0, err
	}
	if err := empty.Close(); err != nil {
		return 0, err
	}
	src, err := connect(from)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := connect(to)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()

	h := &byHand{src: src, dst: dst}
	// What messages refer to is there before the clock starts.
	for _, table := range []string{"projects", "conversations"} {
		if err := h.copyAll(ctx, table); err != nil {
			return 0, err
		}
	}
	h.took = 0
	for _, run := range h.runs() {
		if err := h.copyRun(ctx, run); err != nil {
			return 0, err
		}
	}
	return h.took, h.err
}

// connect opens a database with the settings of the store.
func connect(path string) (*sqlite3.Conn, error) {
	c, err := sqlite3.Open(path)
	if err != nil {
		return nil, err
	}
	for _, pragma := range []string{"journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "cache_size=-16384", "temp_store=MEMORY", "journal_size_limit=67108864"} {
		if err := c.Exec("PRAGMA " + pragma); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

type byHand struct {
	src, dst *sqlite3.Conn
	took     time.Duration
	err      error
}

// run is what one transaction of the engine wrote.
type run struct{ conversation, first, last int64 }

// runs returns the messages of each conversation in batches.
func (h *byHand) runs() []run {
	var all []run
	h.each("SELECT id, messages FROM conversations ORDER BY id", func(s *sqlite3.Stmt) {
		id, messages := s.ColumnInt64(0), s.ColumnInt64(1)
		for first := int64(1); first <= messages; first += batch {
			all = append(all, run{id, first, min(messages, first+batch-1)})
		}
	})
	return all
}

func (h *byHand) each(sql string, row func(*sqlite3.Stmt), args ...int64) {
	if h.err != nil {
		return
	}
	s, _, err := h.src.Prepare(sql)
	if err != nil {
		h.err = err
		return
	}
	for i, a := range args {
		h.err = errors.Join(h.err, s.BindInt64(i+1, a))
	}
	for s.Step() {
		row(s)
	}
	h.err = errors.Join(h.err, s.Err(), s.Close())
}

// copyRun inserts the messages of a batch and their places in the view, in one
// transaction.
func (h *byHand) copyRun(ctx context.Context, r run) error {
	messages := h.rows("SELECT * FROM messages WHERE conversation = ? AND seq BETWEEN ? AND ? ORDER BY seq", r.conversation, r.first, r.last)
	items := h.rows("SELECT * FROM view WHERE conversation = ? AND pos BETWEEN ? AND ? ORDER BY pos", r.conversation, r.first, r.last)
	if h.err != nil {
		return h.err
	}
	return h.insert(ctx, []rowset{{"messages", messages}, {"view", items}})
}

func (h *byHand) copyAll(ctx context.Context, table string) error {
	rows := h.rows("SELECT * FROM " + table)
	if h.err != nil {
		return h.err
	}
	return h.insert(ctx, []rowset{{table, rows}})
}

type rowset struct {
	table string
	rows  [][]any
}

func (h *byHand) rows(sql string, args ...int64) [][]any {
	var all [][]any
	h.each(sql, func(s *sqlite3.Stmt) {
		row := make([]any, s.ColumnCount())
		for i := range row {
			switch s.ColumnType(i) {
			case sqlite3.INTEGER:
				row[i] = s.ColumnInt64(i)
			case sqlite3.TEXT:
				row[i] = s.ColumnText(i)
			case sqlite3.BLOB:
				row[i] = s.ColumnBlob(i, []byte{})
			}
		}
		all = append(all, row)
	}, args...)
	return all
}

// insert is what is timed.
func (h *byHand) insert(ctx context.Context, sets []rowset) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	at := time.Now()
	defer func() { h.took += time.Since(at) }()
	tx, err := h.dst.BeginImmediate()
	if err != nil {
		return err
	}
	defer tx.End(&err)
	for _, set := range sets {
		if err := h.insertSet(set); err != nil {
			return fmt.Errorf("%s: %w", set.table, err)
		}
	}
	return nil
}

func (h *byHand) insertSet(set rowset) (err error) {
	if len(set.rows) == 0 {
		return nil
	}
	marks := strings.TrimSuffix(strings.Repeat("?,", len(set.rows[0])), ",")
	s, _, err := h.dst.Prepare("INSERT INTO " + set.table + " VALUES (" + marks + ")")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, row := range set.rows {
		for i, v := range row {
			if err := bind(s, i+1, v); err != nil {
				return err
			}
		}
		s.Step()
		if err := s.Reset(); err != nil {
			return err
		}
	}
	return nil
}

func bind(s *sqlite3.Stmt, i int, v any) error {
	switch v := v.(type) {
	case int64:
		return s.BindInt64(i, v)
	case string:
		return s.BindText(i, v)
	case []byte:
		return s.BindBlob(i, v)
	}
	return s.BindNull(i)
}
