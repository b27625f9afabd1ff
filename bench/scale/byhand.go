package scale

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// byHand copies the rows that the engine has just written into a fresh
// database of the same schema by plain inserts, and adds up how long those
// took. Reading the rows is not counted. It works in turns with the engine, so
// that both meet the same machine.
type byHand struct {
	src, dst *sqlite3.Conn
	begun    bool
	took     time.Duration
	err      error
}

func newByHand(ctx context.Context, from, to string) (*byHand, error) {
	empty, err := sqlite.Open(ctx, to, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := empty.Close(); err != nil {
		return nil, err
	}
	src, err := connect(from)
	if err != nil {
		return nil, err
	}
	dst, err := connect(to)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return &byHand{src: src, dst: dst}, nil
}

func (h *byHand) close() error { return errors.Join(h.src.Close(), h.dst.Close()) }

// announce copies the rows that the messages of a conversation refer to. It is
// not timed.
func (h *byHand) announce(ctx context.Context, conversation store.ConversationID) error {
	var projects [][]any
	if !h.begun { // the conversations of the benchmark share one
		projects = h.rows("SELECT * FROM projects")
		h.begun = true
	}
	conversations := h.rows("SELECT * FROM conversations WHERE id = ?", int64(conversation))
	if h.err != nil {
		return h.err
	}
	before := h.took
	defer func() { h.took = before }()
	return h.insert(ctx, []rowset{{"projects", projects}, {"conversations", conversations}})
}

// follow inserts the messages of a batch and their places in the view, in one
// transaction.
func (h *byHand) follow(ctx context.Context, conversation store.ConversationID, first, last int64) error {
	messages := h.rows("SELECT * FROM messages WHERE conversation = ? AND seq BETWEEN ? AND ? ORDER BY seq", int64(conversation), first, last)
	items := h.rows("SELECT * FROM view WHERE conversation = ? AND pos BETWEEN ? AND ? ORDER BY pos", int64(conversation), first, last)
	if h.err != nil {
		return h.err
	}
	return h.insert(ctx, []rowset{{"messages", messages}, {"view", items}})
}

// connect opens a database with the settings of the store.
func connect(path string) (*sqlite3.Conn, error) {
	c, err := sqlite3.Open(path)
	if err != nil {
		return nil, err
	}
	for _, pragma := range []string{"journal_mode=WAL", "synchronous=FULL", "foreign_keys=OFF", "cache_size=-16384", "temp_store=MEMORY", "journal_size_limit=67108864"} {
		if err := c.Exec("PRAGMA " + pragma); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

type rowset struct {
	table string
	rows  [][]any
}

// rows reads rows of the engine's database.
func (h *byHand) rows(sql string, args ...int64) [][]any {
	if h.err != nil {
		return nil
	}
	var all [][]any
	s, _, err := h.src.Prepare(sql)
	if err != nil {
		h.err = err
		return nil
	}
	for i, a := range args {
		err = errors.Join(err, s.BindInt64(i+1, a))
	}
	for err == nil && s.Step() {
		row := make([]any, s.ColumnCount())
		err = s.Columns(row...)
		all = append(all, row)
	}
	h.err = errors.Join(err, s.Err(), s.Close())
	return all
}

// insert is timed.
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
		if len(set.rows) == 0 {
			continue
		}
		if err := harness.Run(h.dst, "INSERT INTO "+set.table+" VALUES "+harness.Placeholders(len(set.rows[0])), set.rows...); err != nil {
			return fmt.Errorf("%s: %w", set.table, err)
		}
	}
	return nil
}
