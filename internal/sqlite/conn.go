package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// conn is a connection with its prepared statements. It belongs to one
// goroutine at a time.
type conn struct {
	raw      *sqlite3.Conn
	stmts    map[string]*sqlite3.Stmt
	text     []byte    // room for the text of a row
	snapshot *snapshot // that it reads, where it does not read the file itself
	// beforeCommit may refuse the commit of a transaction. It may be nil.
	beforeCommit func() error
}

// openConn opens a connection with the settings that every connection shares.
// One that only reads does so on a full disk too.
func openConn(ctx context.Context, path string, o Options) (*conn, error) {
	name, err := dsn(path, o)
	if err != nil {
		return nil, err
	}
	c, err := openAt(ctx, name, o)
	if !o.ReadOnly || o.VFS != "" || !Full(err) {
		return c, err
	}
	path = Resolve(path)
	private(path, o) // the attempt leaves empty files
	s, err := openSnapshot(path)
	if err != nil {
		return nil, err
	}
	if c, err = openAt(ctx, s.dsn(), o); err != nil {
		return nil, errors.Join(err, s.close())
	}
	c.snapshot = s
	return c, nil
}

func openAt(ctx context.Context, dsn string, o Options) (*conn, error) {
	flags := sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE | sqlite3.OPEN_URI
	if o.ReadOnly {
		flags = sqlite3.OPEN_READONLY | sqlite3.OPEN_URI
	}
	c, err := sqlite3.OpenFlags(dsn, flags)
	if err != nil {
		return nil, err
	}
	db := newConn(c)
	err = configure(ctx, db, o)
	if err == nil && o.ReadOnly {
		err = emulateNewSchema(db)
	}
	if err != nil {
		return nil, errors.Join(err, db.close())
	}
	return db, nil
}

func configure(ctx context.Context, c *conn, o Options) error {
	if err := c.raw.BusyHandler(patience(o.BusyTimeout)); err != nil {
		return err
	}
	// Else a statement whose LIMIT is a parameter is prepared again each time
	// that it is used, lest another value want another plan.
	if _, err := c.raw.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true); err != nil {
		return err
	}
	// The schema of a file that lcm did not make runs nothing. Triggers and views
	// are refused when a database is opened; these hold for those that another
	// process adds later.
	for _, option := range []sqlite3.DBConfig{sqlite3.DBCONFIG_ENABLE_TRIGGER, sqlite3.DBCONFIG_ENABLE_VIEW, sqlite3.DBCONFIG_TRUSTED_SCHEMA} {
		if _, err := c.raw.Config(option, false); err != nil {
			return err
		}
	}
	defer c.interrupt(ctx)()
	for _, pragma := range []string{
		// A writer refers only to rows that it has just read or written, so
		// looking each of them up again would be a sixth of a fold's time.
		// The tests hold every database that they made to its references.
		"foreign_keys=OFF",
		"temp_store=MEMORY",
		fmt.Sprintf("cache_size=-%d", o.CacheKiB),
	} {
		if err := c.script("PRAGMA " + pragma); err != nil {
			return err
		}
	}
	return nil
}

// patience returns a busy handler that waits up to a limit for another
// process to finish its transaction. SQLite's own handler sleeps longer and
// longer, so that of sixteen writers the one that has waited longest is the
// least likely to be served; short random sleeps keep the odds even.
func patience(limit time.Duration) func(context.Context, int) bool {
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

// newConn wraps an open connection of the driver.
func newConn(raw *sqlite3.Conn) *conn {
	return &conn{raw: raw, stmts: map[string]*sqlite3.Stmt{}}
}

// interrupt ends statements when ctx is cancelled, until the function that it
// returns is called.
func (c *conn) interrupt(ctx context.Context) (restore func()) {
	old := c.raw.SetInterrupt(ctx)
	return func() { c.raw.SetInterrupt(old) }
}

// script runs one or more statements without parameters. They are not kept
// prepared.
func (c *conn) script(sql string) error { return c.raw.Exec(sql) }

// lastID returns the row id of the latest INSERT.
func (c *conn) lastID() int64 { return c.raw.LastInsertRowID() }

// changes returns how many rows the latest statement changed.
func (c *conn) changes() int64 { return c.raw.Changes() }

// totalChanges returns how many rows were changed since the connection was
// opened.
func (c *conn) totalChanges() int64 { return c.raw.TotalChanges() }

// stmt returns the prepared statement of some SQL, ready to be bound.
func (c *conn) stmt(sql string) (*sqlite3.Stmt, error) {
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	s, tail, err := c.raw.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", sql, err)
	}
	if tail != "" {
		return nil, fmt.Errorf("prepare: %q follows the statement", tail)
	}
	c.stmts[sql] = s
	return s, nil
}

// breath is how many rows are read before others may run. A search reads
// thousands on every core: measured at six searches a second, an append's p99
// was 3.0 to 4.0 ms without this and 2.1 to 2.2 ms with it.
const breath = 32

// query binds args, calls row for each row, and resets the statement.
func (c *conn) query(sql string, row func(*sqlite3.Stmt) error, args ...any) (err error) {
	s, err := c.stmt(sql)
	if err != nil {
		return err
	}
	defer func() {
		// Reset repeats an error of Step, but not that of an interrupt.
		if reset := errors.Join(s.Reset(), s.ClearBindings()); err == nil {
			err = reset
		}
	}()
	if err := bind(s, args...); err != nil {
		return err
	}
	for n := 1; s.Step(); n++ {
		if err := row(s); err != nil {
			return err
		}
		if n%breath == 0 {
			runtime.Gosched()
		}
	}
	return s.Err()
}

// one is query for at most one row; found says whether there was one.
func (c *conn) one(sql string, row func(*sqlite3.Stmt) error, args ...any) (found bool, err error) {
	err = c.query(sql, func(s *sqlite3.Stmt) error {
		if found {
			return nil
		}
		found = true
		return row(s)
	}, args...)
	return found, err
}

// exec runs a statement that returns no rows.
func (c *conn) exec(sql string, args ...any) error {
	return c.query(sql, func(*sqlite3.Stmt) error { return nil }, args...)
}

// bind binds Go values. A nil is NULL; so is a zero time.
func bind(s *sqlite3.Stmt, args ...any) error {
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
		default:
			err = fmt.Errorf("parameter %d has type %T, which is not stored", i+1, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// null turns an empty value into NULL.
func null[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// read runs fn in one read transaction, so that all its statements see the
// same state.
func (c *conn) read(fn func() error) (err error) {
	if err := c.exec("BEGIN"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.rollback()) }()
	return fn()
}

// write runs fn in a write transaction.
func (c *conn) write(fn func() error) (err error) {
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
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
	return c.exec("COMMIT")
}

// rollback ends a transaction that was not committed, also where the caller
// has given up: the connection goes back to others.
func (c *conn) rollback() error {
	if c.raw.GetAutocommit() {
		return nil // committed, or rolled back by SQLite after a failure
	}
	defer c.interrupt(context.WithoutCancel(c.raw.GetInterrupt()))()
	return c.exec("ROLLBACK")
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	errs = append(errs, c.raw.Close())
	if c.snapshot != nil {
		errs = append(errs, c.snapshot.close())
	}
	return errors.Join(errs...)
}

// millis reads a time column; NULL is the zero time.
func millis(s *sqlite3.Stmt, col int) time.Time {
	if s.ColumnType(col) == sqlite3.NULL {
		return time.Time{}
	}
	return time.UnixMilli(s.ColumnInt64(col)).UTC()
}

// ForgetStatements closes prepared statements that mention something, so that
// a database can be detached.
func ForgetStatements(c *conn, text string) error {
	var errs []error
	for sql, s := range c.stmts {
		if strings.Contains(sql, text) {
			errs = append(errs, s.Close())
			delete(c.stmts, sql)
		}
	}
	return errors.Join(errs...)
}

// errStop ends an iteration whose consumer has had enough.
var errStop = fmt.Errorf("stop")

func int64Column(to *int64) func(*sqlite3.Stmt) error {
	return func(s *sqlite3.Stmt) error { *to = s.ColumnInt64(0); return nil }
}

func integer(to *int) func(*sqlite3.Stmt) error {
	return func(s *sqlite3.Stmt) error { *to = s.ColumnInt(0); return nil }
}

func text(to *string) func(*sqlite3.Stmt) error {
	return func(s *sqlite3.Stmt) error { *to = s.ColumnText(0); return nil }
}
