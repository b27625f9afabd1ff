package dbfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// Conn is a connection with its prepared statements. One goroutine may use it
// at a time.
type Conn struct {
	raw   *sqlite3.Conn
	stmts map[string]*sqlite3.Stmt
	// beforeCommit may refuse the commit of a transaction. It may be nil.
	beforeCommit func() error
	log          *slog.Logger
	stopped      bool // it makes no checkpoint any more
	sqldb.Scratch
}

// OpenConn opens a connection with the settings that all connections share. A
// read-only one also works on a full disk, where SQLite has no room for its shared
// memory, if there is no log to read with it.
func OpenConn(ctx context.Context, path string, o Options) (*Conn, error) {
	name, err := DSN(path, o)
	if err != nil {
		return nil, err
	}
	c, err := openAt(ctx, name, o)
	if o.ReadOnly && o.VFS == "" && Full(err) && !hasLog(Resolve(path)) {
		private(Resolve(path), o) // the attempt leaves empty files
		return openAt(ctx, immutable(Resolve(path)), o)
	}
	return c, err
}

func openAt(ctx context.Context, dsn string, o Options) (*Conn, error) {
	flags := sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE | sqlite3.OPEN_URI
	if o.ReadOnly {
		flags = sqlite3.OPEN_READONLY | sqlite3.OPEN_URI
	}
	c, err := sqlite3.OpenFlags(dsn, flags)
	if err != nil {
		return nil, driverError(err, "")
	}
	db := NewConn(c)
	if err := configure(ctx, db, o); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func configure(ctx context.Context, c *Conn, o Options) error {
	if err := c.raw.BusyHandler(busyWait(o.BusyTimeout)); err != nil {
		return err
	}
	// Without this SQLite prepares a statement again on each use if its LIMIT
	// is a parameter, because another value may need another plan.
	if _, err := c.raw.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true); err != nil {
		return err
	}
	// The schema of a foreign file must not run code. Triggers and views are
	// refused when a database is opened; these settings cover those that
	// another process adds later.
	for _, option := range []sqlite3.DBConfig{sqlite3.DBCONFIG_ENABLE_TRIGGER, sqlite3.DBCONFIG_ENABLE_VIEW, sqlite3.DBCONFIG_TRUSTED_SCHEMA} {
		if _, err := c.raw.Config(option, false); err != nil {
			return err
		}
	}
	if !o.ReadOnly {
		c.log = o.Log
		c.raw.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
			if pages >= logPages {
				_, _ = c.Checkpoint(sqlite3.CHECKPOINT_PASSIVE) // the commit stands; the next one tries again
			}
			return nil
		})
	}
	defer c.Interrupt(c.Interrupt(ctx))
	for _, pragma := range []string{
		// Writers refer only to rows that they have just read or written, and
		// looking each up again took a sixth of a fold's time. The tests check
		// the references of every database that they make.
		"foreign_keys=OFF",
		"temp_store=MEMORY",
		fmt.Sprintf("cache_size=-%d", o.CacheKiB),
	} {
		if err := c.Script("PRAGMA " + pragma); err != nil {
			return err
		}
	}
	return nil
}

// busyWait returns a busy handler that waits up to a limit for another process
// to finish its transaction. SQLite's own handler sleeps longer and longer, so
// that of sixteen writers the longest waiting is the least likely to be served;
// short random sleeps keep the odds even.
func busyWait(limit time.Duration) func(context.Context, int) bool {
	var since time.Time
	return func(ctx context.Context, count int) bool {
		if count == 0 {
			since = time.Now()
		}
		if time.Since(since) >= limit {
			return false
		}
		t := time.NewTimer(200*time.Microsecond + rand.N(3*time.Millisecond))
		defer t.Stop()
		select {
		case <-ctx.Done():
			return false
		case <-t.C:
			return true
		}
	}
}

// NewConn wraps an open connection of the driver.
func NewConn(raw *sqlite3.Conn) *Conn {
	return &Conn{raw: raw, stmts: map[string]*sqlite3.Stmt{}}
}

// Interrupt ends statements when ctx is cancelled, and returns the context that
// did so before.
func (c *Conn) Interrupt(ctx context.Context) (old context.Context) { return c.raw.SetInterrupt(ctx) }

// Script runs one or more statements without parameters. They are not kept
// prepared.
func (c *Conn) Script(sql string) error { return driverError(c.raw.Exec(sql), sql) }

// Insert implements [sqldb.Conn]. The column must be the table's row id.
func (c *Conn) Insert(_, sql string, args ...any) (int64, error) {
	if err := c.Exec(sql, args...); err != nil || c.raw.Changes() == 0 {
		return 0, err
	}
	return c.raw.LastInsertRowID(), nil
}

// Update implements [sqldb.Conn].
func (c *Conn) Update(sql string, args ...any) (int64, error) {
	before := c.raw.TotalChanges()
	err := c.Exec(sql, args...)
	return c.raw.TotalChanges() - before, err
}

// Dangling implements [sqldb.Conn].
func (c *Conn) Dangling(found func(table, parent string) error) error {
	return c.Query(`PRAGMA foreign_key_check`, func(s sqldb.Row) error { return found(s.ColumnText(0), s.ColumnText(2)) })
}

// dialect is the SQL of SQLite, which has one writer at a time.
var dialect = sqldb.Dialect{
	Greatest:    "max",
	NextMessage: `(SELECT coalesce(max(id), 0) + 1 FROM messages)`,
	// Not a number that messages without a conversation have.
	NextConversation: `1 + max(coalesce((SELECT max(id) FROM conversations), 0), coalesce((SELECT max(conversation) FROM messages), 0),
		               coalesce((SELECT max(conversation) FROM summaries), 0))`,
}

// Dialect implements [sqldb.Conn].
func (c *Conn) Dialect() *sqldb.Dialect { return &dialect }

// Stmt returns the prepared statement of some SQL, ready to be bound.
func (c *Conn) Stmt(sql string) (*sqlite3.Stmt, error) {
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	s, tail, err := c.raw.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, driverError(err, sql)
	}
	if tail != "" {
		return nil, fmt.Errorf("prepare: %q follows the statement", tail)
	}
	c.stmts[sql] = s
	return s, nil
}

// yieldRows is the number of rows after which a query lets other goroutines
// run. A search reads thousands on every core: measured at six searches a
// second, an append's p99 was 3.0 to 4.0 ms without this and 2.1 to 2.2 ms with
// it.
const yieldRows = 32

// Query binds args, calls each for each row, and resets the statement.
func (c *Conn) Query(sql string, each func(sqldb.Row) error, args ...any) (err error) {
	s, err := c.Stmt(sql)
	if err != nil {
		return err
	}
	defer func() {
		// Reset repeats an error of Step, but not that of an interrupt.
		if reset := errors.Join(s.Reset(), s.ClearBindings()); err == nil {
			err = driverError(reset, sql)
		}
	}()
	if err := Bind(s, args...); err != nil {
		return err
	}
	for n := 1; s.Step(); n++ {
		if err := each(row{s}); err != nil {
			return err
		}
		if n%yieldRows == 0 {
			runtime.Gosched()
		}
	}
	return driverError(s.Err(), sql)
}

// Stream implements [sqldb.Conn]. A query of SQLite never loads its result.
func (c *Conn) Stream(sql string, each func(sqldb.Row) error, args ...any) error {
	return c.Query(sql, each, args...)
}

// One calls each for the first row. found reports whether there was one. The
// statement runs to its end: it may write as well.
func (c *Conn) One(sql string, each func(sqldb.Row) error, args ...any) (found bool, err error) {
	err = c.Query(sql, func(s sqldb.Row) error {
		if found {
			return nil
		}
		found = true
		return each(s)
	}, args...)
	return found, err
}

// Has reports whether a query returns a row.
func (c *Conn) Has(sql string, args ...any) (bool, error) {
	return c.One(sql, func(sqldb.Row) error { return nil }, args...)
}

// ExecAll runs statements that return no rows one after the other, each with
// args, up to the first error.
func (c *Conn) ExecAll(statements []string, args ...any) error {
	return sqldb.Each(statements, func(sql string) error { return c.Exec(sql, args...) })
}

// Exec runs a statement that returns no rows.
func (c *Conn) Exec(sql string, args ...any) error {
	return c.Query(sql, func(sqldb.Row) error { return nil }, args...)
}

// Bind binds Go values. A nil is NULL; so is a zero time.
func Bind(s *sqlite3.Stmt, args ...any) error {
	for i, a := range args {
		var err error
		switch v := a.(type) {
		case nil:
			err = s.BindNull(i + 1)
		case int:
			err = s.BindInt64(i+1, int64(v))
		case int64:
			err = s.BindInt64(i+1, v)
		case bool:
			err = s.BindBool(i+1, v)
		case string:
			err = s.BindText(i+1, v)
		case []byte:
			err = s.BindBlob(i+1, v)
		case time.Time:
			if v.IsZero() {
				err = s.BindNull(i + 1)
			} else {
				err = s.BindInt64(i+1, v.UnixMilli())
			}
		case []int64, []string: // for json_each
			var list []byte
			if list, err = json.Marshal(v); err == nil {
				err = s.BindText(i+1, string(list))
			}
		default:
			err = fmt.Errorf("parameter %d has type %T, which is not stored", i+1, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Read runs fn in one read transaction, so that all its statements see the
// same state. Inside a transaction it only calls fn.
func (c *Conn) Read(fn func() error) (err error) {
	if !c.raw.GetAutocommit() {
		return fn()
	}
	if err := c.Exec("BEGIN"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.rollback()) }()
	return fn()
}

// Write runs fn in a write transaction.
func (c *Conn) Write(fn func() error) (err error) {
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.rollback()) }()
	if err := fn(); err != nil {
		return err
	}
	if c.beforeCommit != nil {
		if err := c.beforeCommit(); err != nil {
			return err
		}
	}
	return c.Exec("COMMIT")
}

// rollback ends a transaction that was not committed, also after ctx was
// cancelled: the connection is used again.
func (c *Conn) rollback() error {
	if c.raw.GetAutocommit() {
		return nil // committed, or rolled back by SQLite after a failure
	}
	defer c.Interrupt(c.Interrupt(context.WithoutCancel(c.raw.GetInterrupt())))
	return c.Exec("ROLLBACK")
}

func (c *Conn) Close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}
