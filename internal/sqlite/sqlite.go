// Package sqlite is the embedded store: one SQLite file that holds the
// messages, the summaries and the payloads of every conversation, so that one
// backup holds everything.
//
// Several processes may use the file at once. Writes are short transactions in
// WAL mode that wait for each other up to [Options.BusyTimeout]; reads never
// wait. An acknowledged write has been synced to the disk unless
// [Options.Relaxed] asks otherwise.
//
// The driver is pure Go, and its file system layer can be wrapped in Go
// (Options.VFS), which is how faults are injected in tests.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/store"
)

// Options says how a database is opened. The zero value is a good default.
type Options struct {
	// BusyTimeout is how long a write waits for other processes (30 s).
	BusyTimeout time.Duration
	// Relaxed acknowledges writes before they are safe from a power cut. They
	// are safe from a crash of the process all the same.
	Relaxed bool
	// ReadOnly opens an existing database without ever writing to it.
	ReadOnly bool
	// CacheKiB is the page cache of the connection that writes in KiB
	// (16,384). Those that read have an eighth of it each: SQLite empties a
	// cache whenever another connection has written, and the operating system
	// has the pages too.
	CacheKiB int
	// DeferIndex leaves the search index to [DB.Reindex]: for a bulk import
	// that calls it at its end, and for a program that has no time to index and
	// leaves it to another when [DB.IndexDue] says so. Searches are complete all
	// the same.
	DeferIndex bool
	// Clock is what time it is (time.Now).
	Clock func() time.Time
	// Log is where failures of background work are reported (slog.Default).
	Log *slog.Logger
	// VFS names a registered file system layer of the driver to use in place
	// of the operating system's.
	VFS string
}

// DB is a [store.Store] in a SQLite file.
type DB struct {
	path string
	opts Options
	file fs.FileInfo // what was at path when it was opened; nil with a VFS

	// write holds the one connection that writes. Taking it is ctx-aware,
	// which a mutex is not.
	write chan *conn
	ready atomic.Bool // the statements of a fold were prepared on it

	// life ends when the store is closed, and background work with it.
	life context.Context
	end  context.CancelFunc

	// What is searched, and the part of the index that is in memory.
	messages  *lane
	summaries *lane
	sections  sectionCache
	proved    provedPayloads
	hosts     bookkeeping

	mu       sync.Mutex
	idle     []*conn // connections that read
	closed   bool
	indexing bool           // the indexer is at work
	sealed   int64          // messages up to this one are indexed, as far as is known
	unsealed int64          // bytes of records that this process wrote since it indexed
	out      sync.WaitGroup // calls that are under way
	// temporary is the directory of a database that ends with Close.
	temporary string
}

var _ store.Store = (*DB)(nil)

// errClosed is what every call after Close returns.
var errClosed = errors.New("the store is closed")

// maxIdle is how many reading connections are kept when nobody needs them.
const maxIdle = 4

// Memory is the path of a database that no other opener shares. It is kept in a
// temporary directory, which Close removes.
const Memory = ":memory:"

// Open opens the database at path and brings its schema up to date. A file
// that does not exist is made, readable by its owner only, and so is its
// directory.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	if path != Memory || o.VFS != "" {
		return open(ctx, path, o)
	}
	dir, err := os.MkdirTemp("", "lcm-memory-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary database: %w", err)
	}
	o.Relaxed = true
	db, err := open(ctx, filepath.Join(dir, "lcm.db"), o)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	db.temporary = dir
	return db, nil
}

func open(ctx context.Context, path string, o Options) (*DB, error) {
	if path == "" {
		return nil, &store.Problem{Err: errors.New("no database path was given"), Hint: "set LCM_DATABASE_PATH or database_path"}
	}
	if o.VFS == "" {
		path = Resolve(path)
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 30 * time.Second
	}
	if o.CacheKiB == 0 {
		o.CacheKiB = 16 << 10
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if err := prepare(path, o); err != nil {
		return nil, explain(path, err)
	}
	c, err := openConn(ctx, path, o)
	if err != nil {
		return nil, explain(path, err)
	}
	db := &DB{path: path, opts: o, write: make(chan *conn, 1)}
	db.life, db.end = context.WithCancel(context.WithoutCancel(ctx))
	db.messages, db.summaries = newLane(db, laneMessages), newLane(db, laneSummaries)
	err = c.begin(ctx, o)
	if err == nil && !o.ReadOnly {
		err = syncNames(path, o)
	}
	if err == nil {
		db.sealed, err = db.messages.watermark(c)
	}
	if err == nil {
		err = db.identify()
	}
	if err != nil {
		db.end()
		return nil, explain(path, errors.Join(err, c.close()))
	}
	c.beforeCommit = db.stillThere
	db.write <- c
	if !o.ReadOnly {
		private(path, o)
	}
	return db, nil
}

// Path returns the file that the database is in.
func (db *DB) Path() string { return db.path }

// prepare makes the file and its directory, both private, before the driver
// would make them with the process's umask.
func prepare(path string, o Options) error {
	if o.ReadOnly || o.VFS != "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := bereft(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, os.ErrPermission) {
		if f, rerr := os.Open(path); rerr == nil {
			return errors.Join(store.ErrReadOnly, f.Close())
		}
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// private takes the rights of others off the files that SQLite keeps beside
// the database. They come and go with the connections, so this is best effort
// on top of the private directory.
func private(path string, o Options) {
	if o.VFS != "" {
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		_ = os.Chmod(path+suffix, info.Mode().Perm())
	}
}

// begin sets a fresh connection up as the writer: journal, durability, schema.
func (c *conn) begin(ctx context.Context, o Options) error {
	if o.ReadOnly {
		return c.checkSchema()
	}
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	if err := c.checkSchema(); err != nil {
		return err
	}
	mode, err := c.useLog(ctx, o.BusyTimeout)
	if err != nil {
		return err
	}
	if !strings.EqualFold(mode, "wal") {
		return fmt.Errorf("the file system does not allow a write-ahead log (journal mode is %s)", mode)
	}
	if err := c.sync(o.Relaxed); err != nil {
		return err
	}
	if err := c.Exec("PRAGMA journal_size_limit=67108864"); err != nil {
		return err
	}
	return c.migrate()
}

// useLog puts the database into WAL mode. Of processes that make one together
// some are told that it is locked, without their busy handler being asked.
func (c *conn) useLog(ctx context.Context, timeout time.Duration) (mode string, err error) {
	wait := patience(timeout)
	for begun := time.Now(); ; {
		_, err = c.one("PRAGMA journal_mode=WAL", text(&mode))
		if !errors.Is(err, sqlite3.BUSY) || time.Since(begun) >= timeout || !wait(ctx, 0) {
			return mode, err
		}
	}
}

func (c *conn) sync(relaxed bool) error {
	if relaxed {
		return c.Exec("PRAGMA synchronous=NORMAL")
	}
	return c.Exec("PRAGMA synchronous=FULL")
}

// withWriter lends the writing connection to fn.
func (db *DB) withWriter(ctx context.Context, fn func(*conn) error) error {
	if db.opts.ReadOnly {
		return explain(db.path, store.ErrReadOnly)
	}
	if err := db.enter(); err != nil {
		return err
	}
	defer db.out.Done()
	var c *conn
	select {
	case c = <-db.write:
	case <-ctx.Done():
		return fmt.Errorf("waiting to write: %w", ctx.Err())
	}
	defer func() { db.write <- c }()
	if err := db.stillThere(); err != nil {
		return err
	}
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	return explain(db.path, cancelled(ctx, fn(c)))
}

// withReader lends a reading connection to fn.
func (db *DB) withReader(ctx context.Context, fn func(*conn) error) error {
	if err := db.enter(); err != nil {
		return err
	}
	defer db.out.Done()
	if err := db.stillThere(); err != nil {
		return err
	}
	c, err := db.reader(ctx)
	if err != nil {
		return explain(db.path, cancelled(ctx, err))
	}
	defer db.release(c)
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	err = fn(c)
	if c.snapshot != nil {
		err = errors.Join(c.snapshot.changed(), err)
	}
	return explain(db.path, cancelled(ctx, err))
}

// enter registers a call, so that Close can wait for it.
func (db *DB) enter() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return errClosed
	}
	db.out.Add(1)
	return nil
}

// reader returns an idle connection or opens another: a caller that reads
// while it iterates must never wait for itself.
func (db *DB) reader(ctx context.Context) (*conn, error) {
	db.mu.Lock()
	for n := len(db.idle); n > 0; n = len(db.idle) {
		c := db.idle[n-1]
		db.idle = db.idle[:n-1]
		if c.snapshot == nil || c.snapshot.changed() == nil {
			db.mu.Unlock()
			return c, nil
		}
		_ = c.close() // a reader has nothing to lose
	}
	db.mu.Unlock()
	o := db.opts
	o.CacheKiB /= 8
	c, err := openConn(ctx, db.path, o)
	if err != nil {
		return nil, err
	}
	if err := c.Exec("PRAGMA query_only=ON"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (db *DB) release(c *conn) {
	db.mu.Lock()
	if !db.closed && len(db.idle) < maxIdle {
		db.idle = append(db.idle, c)
		db.mu.Unlock()
		return
	}
	db.mu.Unlock()
	_ = c.close() // a reader has nothing to lose
}

// Close waits for the calls that are under way and closes the file.
func (db *DB) Close() error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return nil
	}
	db.closed = true
	idle := db.idle
	db.idle = nil
	db.mu.Unlock()
	db.end()
	db.out.Wait()
	var errs []error
	for _, c := range idle {
		errs = append(errs, c.close())
	}
	errs = append(errs, (<-db.write).close())
	db.settle()
	if db.temporary != "" {
		errs = append(errs, os.RemoveAll(db.temporary))
	}
	return errors.Join(errs...)
}
