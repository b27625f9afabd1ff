package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// conn is a connection as a [sqldb.Conn]. Statements without a result wait until one
// with a result or the end of the transaction, and are sent with it, so that a
// transaction takes few round trips.
type conn struct {
	sqldb.Scratch
	pg   *pgx.Conn
	ctx  context.Context // of the call that borrowed the connection
	in   txState
	xid  uint64 // of the write transaction, once it is known
	wait []statement
	size int // bytes of the parameters in wait
	// gave says that a caller has got a row since it borrowed the connection.
	gave bool
	// cursors counts the open cursors.
	cursors int
}

type txState int

const (
	noTx    txState = iota
	reading         // or about to
	writing
)

// statement waits to be sent.
type statement struct {
	sql  string
	args []any
	// rows reads the result, or is nil.
	rows func(pgx.Rows) error
}

var _ sqldb.Conn = (*conn)(nil)

// maxWait and maxWaitBytes limit the statements that wait.
const (
	maxWait      = 8192
	maxWaitBytes = 4 << 20
)

// arguments converts parameters to what PostgreSQL stores: times are milliseconds.
func arguments(args []any) (out []any, size int) {
	out = make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case time.Time:
			if !v.IsZero() {
				out[i] = v.UnixMilli()
			}
		case string:
			out[i] = escape(v)
			size += len(v)
		case []string:
			escaped := make([]string, len(v))
			for j, s := range v {
				escaped[j] = escape(s)
			}
			out[i] = escaped
		case []byte:
			if len(v) <= 64 { // hashes: the caller may change them before they are sent
				v = append(make([]byte, 0, len(v)), v...)
			}
			out[i] = v
			size += len(v)
		default:
			out[i] = a
		}
	}
	return out, size
}

// send sends the statements that wait, and reads their results.
func (c *conn) send() error {
	wait := c.wait
	c.wait, c.size = nil, 0
	if len(wait) == 0 {
		return nil
	}
	var batch pgx.Batch
	for _, s := range wait {
		batch.Queue(s.sql, s.args...)
	}
	results := c.pg.SendBatch(c.ctx, &batch)
	var failed error
	for _, s := range wait {
		var err error
		if s.rows == nil {
			var tag pgconn.CommandTag
			if tag, err = results.Exec(); err == nil && s.sql == "COMMIT" && tag.String() != "COMMIT" {
				err = errRolledBack
			}
		} else {
			err = readRows(results, s.rows)
		}
		if err != nil {
			failed = fail(err, s.sql)
			break
		}
	}
	if err := results.Close(); failed == nil && err != nil {
		failed = fail(err, wait[len(wait)-1].sql)
	}
	return failed
}

func readRows(results pgx.BatchResults, read func(pgx.Rows) error) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := read(rows); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// ask sends the statements that wait and one more, and returns its rows. They are
// loaded whole, because row functions may use the connection.
func (c *conn) ask(sql string, args []any) (found []row, changed int64, err error) {
	defer func() { c.gave = c.gave || len(found) > 0 && err == nil }()
	values, _ := arguments(args)
	text := translate(sql)
	read := func(rows pgx.Rows) error {
		fields := slices.Clone(rows.FieldDescriptions()) // the driver uses them again for the next statement
		for rows.Next() {
			found = append(found, row{types: c.pg.TypeMap(), fields: fields, values: copyValues(rows.RawValues())})
		}
		rows.Close()
		changed = rows.CommandTag().RowsAffected()
		return rows.Err()
	}
	c.wait = append(c.wait, statement{text, values, read})
	err = c.send()
	return found, changed, err
}

// copyValues copies the values of a row, which the driver uses again.
func copyValues(values [][]byte) [][]byte {
	size := 0
	for _, v := range values {
		size += len(v)
	}
	all := make([]byte, 0, size)
	out := make([][]byte, len(values))
	for i, v := range values {
		if v != nil {
			from := len(all)
			all = append(all, v...)
			out[i] = all[from:len(all):len(all)]
		}
	}
	return out
}

// Query implements [sqldb.Conn].
func (c *conn) Query(sql string, each func(sqldb.Row) error, args ...any) error {
	rows, _, err := c.ask(sql, args)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

// firstRows is how many rows of a stream are loaded at first. Later more are loaded at a
// time, as long as they have fewer bytes than pageBytes.
const (
	firstRows = 128
	pageBytes = 256 << 10
)

// Stream implements [sqldb.Conn]. The first rows come with one round trip, which is
// enough for most results; the others are read with a cursor. Without an order the two
// statements could return a row twice or never.
func (c *conn) Stream(sql string, each func(sqldb.Row) error, args ...any) error {
	if !strings.Contains(sql, "ORDER BY") {
		return fail(errNoOrder, sql)
	}
	if c.in == noTx {
		return c.Read(func() error { return c.Stream(sql, each, args...) })
	}
	rows, _, err := c.ask(fmt.Sprintf("SELECT * FROM (%s) AS beginning LIMIT %d", sql, firstRows), args)
	if err != nil {
		return err
	}
	if err := sqldb.Each(rows, func(r row) error { return each(r) }); err != nil || len(rows) < firstRows {
		return err
	}
	c.cursors++
	defer func() { c.cursors-- }()
	name := fmt.Sprintf("lcm_%d", c.cursors)
	if err := c.Exec(fmt.Sprintf("DECLARE %s BINARY NO SCROLL CURSOR FOR SELECT * FROM (%s) AS rest OFFSET %d", name, sql, firstRows), args...); err != nil {
		return err
	}
	for n := 2 * firstRows; ; {
		rows, size, err := c.fetch(name, n)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := each(r); err != nil {
				return errors.Join(err, c.closeCursor(name))
			}
		}
		if len(rows) < n {
			return c.closeCursor(name)
		}
		if size < pageBytes {
			n *= 2
		}
	}
}

var errNoOrder = errors.New("the rows of a stream have no order")

// fetch loads the next rows of a cursor. The statement is not prepared, because its
// columns are those of the cursor.
func (c *conn) fetch(name string, n int) (found []row, size int, err error) {
	if err := c.send(); err != nil {
		return nil, 0, err
	}
	sql := fmt.Sprintf("FETCH %d FROM %s", n, name)
	result := c.pg.PgConn().ExecParams(c.ctx, sql, nil, nil, nil, []int16{pgx.BinaryFormatCode})
	fields := slices.Clone(result.FieldDescriptions())
	for result.NextRow() {
		if len(fields) == 0 {
			fields = slices.Clone(result.FieldDescriptions())
		}
		r := row{types: c.pg.TypeMap(), fields: fields, values: copyValues(result.Values())}
		for _, v := range r.values {
			size += len(v)
		}
		found = append(found, r)
	}
	_, err = result.Close()
	return found, size, fail(err, sql)
}

// closeCursor closes a cursor with the next statement.
func (c *conn) closeCursor(name string) error { return c.Exec("CLOSE " + name) }

// One implements [sqldb.Conn].
func (c *conn) One(sql string, each func(sqldb.Row) error, args ...any) (found bool, err error) {
	rows, _, err := c.ask(sql, args)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	return true, each(rows[0])
}

// Has implements [sqldb.Conn].
func (c *conn) Has(sql string, args ...any) (bool, error) {
	return c.One(sql, func(sqldb.Row) error { return nil }, args...)
}

// Exec implements [sqldb.Conn].
func (c *conn) Exec(sql string, args ...any) error {
	values, size := arguments(args)
	c.wait = append(c.wait, statement{sql: translate(sql), args: values})
	c.size += size
	if c.in == noTx || len(c.wait) >= maxWait || c.size >= maxWaitBytes {
		return c.send()
	}
	return nil
}

// ExecAll implements [sqldb.Conn].
func (c *conn) ExecAll(statements []string, args ...any) error {
	return sqldb.Each(statements, func(sql string) error { return c.Exec(sql, args...) })
}

// Update implements [sqldb.Conn].
func (c *conn) Update(sql string, args ...any) (int64, error) {
	_, changed, err := c.ask(sql, args)
	return changed, err
}

// Insert implements [sqldb.Conn].
func (c *conn) Insert(column, sql string, args ...any) (id int64, err error) {
	_, err = c.One(sql+" RETURNING "+column, sqldb.Into(&id), args...)
	return id, err
}

// Script implements [sqldb.Conn].
func (c *conn) Script(sql string) error {
	if err := c.send(); err != nil {
		return err
	}
	_, err := c.pg.PgConn().Exec(c.ctx, translate(sql)).ReadAll()
	return fail(err, sql)
}

// Read implements [sqldb.Conn].
func (c *conn) Read(fn func() error) error {
	if c.in != noTx {
		return fn()
	}
	c.begin(reading)
	defer c.rollback()
	return fn()
}

// hungAfter is how long the server waits for the next statement of a write transaction. A
// process that hangs, or whose machine sleeps, would otherwise hold its locks for ever, and
// the writers of other processes that wait for them would take all their connections.
var hungAfter = "30s"

// begin begins a transaction with the next statement.
func (c *conn) begin(state txState) {
	c.in, c.xid = state, 0
	if state == reading {
		c.wait = append(c.wait, statement{sql: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"})
		return
	}
	c.wait = append(c.wait, statement{sql: "BEGIN"}, statement{sql: "SET LOCAL idle_in_transaction_session_timeout = '" + hungAfter + "'"}, statement{sql: "SELECT pg_current_xact_id()::text::bigint", rows: func(rows pgx.Rows) error {
		for rows.Next() {
			if err := rows.Scan(&c.xid); err != nil {
				return err
			}
		}
		return rows.Err()
	}})
}

// rollback ends a transaction that was not committed. If it fails, the pool closes the
// connection, and the server rolls back.
func (c *conn) rollback() {
	c.in, c.wait, c.size = noTx, nil, 0
	if c.pg.IsClosed() || c.pg.PgConn().TxStatus() == 'I' {
		return // nothing was sent
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), rollbackTime)
	defer cancel()
	_, _ = c.pg.PgConn().Exec(ctx, "ROLLBACK").ReadAll()
}

const rollbackTime = 5 * time.Second

// errUnanswered says that the connection was lost while a transaction was being
// committed, so that it may be stored or not.
var errUnanswered = errors.New("the connection was lost while the transaction was being committed")

// errRolledBack says that a transaction with a failed statement was to be committed.
var errRolledBack = errors.New("the transaction was rolled back, because a statement of it had failed")

// commit commits a write transaction.
func (c *conn) commit() error {
	c.wait = append(c.wait, statement{sql: "COMMIT"})
	err := c.send()
	if err != nil && !refused(err) && !pgconn.SafeToRetry(err) && !errors.Is(err, errRolledBack) {
		return fmt.Errorf("%w: %w", errUnanswered, err)
	}
	if err == nil {
		c.in = noTx
	}
	return err
}

// refused reports whether the server refused a statement and goes on. A fatal error ends
// the connection instead, and may come after the transaction was committed: the server
// looks for an order to end (57P01) before it sends the answer.
func refused(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.SeverityUnlocalized == "ERROR"
}

// Dialect implements [sqldb.Conn].
func (c *conn) Dialect() *sqldb.Dialect { return &dialect }

// references are the columns that refer to rows of other tables.
var references = []struct{ table, column, parent, key string }{
	{"conversations", "project", "projects", "id"}, {"conversations", "parent", "conversations", "id"},
	{"conversations", "forked_from", "conversations", "id"}, {"conversations", "forked_at", "messages", "id"},
	{"messages", "conversation", "conversations", "id"}, {"summaries", "conversation", "conversations", "id"},
	{"edges", "summary", "summaries", "num"}, {"edges", "message", "messages", "id"}, {"edges", "source", "summaries", "num"},
	{"revisions", "summary", "summaries", "num"}, {"view", "conversation", "conversations", "id"},
	{"view", "message", "messages", "id"}, {"view", "summary", "summaries", "num"},
	{"branches", "conversation", "conversations", "id"}, {"branches", "after", "messages", "id"},
	{"branch_items", "branch", "branches", "id"}, {"branch_items", "message", "messages", "id"}, {"branch_items", "summary", "summaries", "num"},
	{"chunks", "payload", "payloads", "num"}, {"message_payloads", "message", "messages", "id"}, {"message_payloads", "payload", "payloads", "num"},
	{"sections", "segment", "segments", "id"}, {"vectors", "message", "messages", "id"},
	{"map_runs", "conversation", "conversations", "id"}, {"map_items", "run", "map_runs", "id"},
}

// Dangling implements [sqldb.Conn].
func (c *conn) Dangling(found func(table, parent string) error) error {
	for _, r := range references {
		sql := fmt.Sprintf("SELECT 1 FROM %s t WHERE t.%s IS NOT NULL AND NOT EXISTS (SELECT 1 FROM %s p WHERE p.%s = t.%s)",
			r.table, r.column, r.parent, r.key, r.column)
		if err := c.Query(sql, func(sqldb.Row) error { return found(r.table, r.parent) }); err != nil {
			return err
		}
	}
	return nil
}
