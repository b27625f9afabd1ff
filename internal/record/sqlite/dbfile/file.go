// Package dbfile opens the SQLite file of a database and lends out its
// connections.
//
// [Open] makes the file where it is missing and checks that it belongs to lcm and has
// the schema of this version (schema.sql). A [File] has one connection that writes and
// several that read; [File.Writer], [File.Transact] and [File.Reader] lend one
// to a function. A [Conn] runs SQL. The packages beside this one hold the SQL:
// they take a Conn, or a File where they choose their own transactions.
//
// The package also knows the format of the file as far as others need it to
// copy, check or rescue one: header, write-ahead log, schema.
package dbfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Options is the options of Open. The zero value is a good default.
type Options struct {
	// BusyTimeout is how long a write waits for other processes (30 s).
	BusyTimeout time.Duration
	// Relaxed acknowledges writes before they survive a power cut. They survive
	// a crash of the process.
	Relaxed bool
	// ReadOnly opens an existing database without ever writing to it.
	ReadOnly bool
	// CacheKiB is the page cache of the writing connection in KiB (16,384).
	// Each reading connection has an eighth of it: SQLite empties a cache
	// whenever another connection has written, and the operating system caches
	// the pages too.
	CacheKiB int
	// DeferIndex leaves indexing to an explicit call of Reindex: for a bulk
	// import that calls it at its end, and for a short-lived program that
	// leaves it to another when IndexDue reports true. Searches are complete
	// without it.
	DeferIndex bool
	// Clock returns the current time (time.Now).
	Clock func() time.Time
	// Log receives failures of background work (slog.Default).
	Log *slog.Logger
	// VFS names a registered file system layer of the driver that replaces that
	// of the operating system.
	VFS string
}

// File is an open database file: one connection that writes, and as many that
// read as there are readers at a time.
type File struct {
	path string
	opts Options
	info fs.FileInfo // the file at path when it was opened; nil with a VFS

	// write holds the one connection that writes. A channel allows waiting with
	// a context, which a mutex does not.
	write chan *Conn

	// life ends when the file is closed, and background work with it.
	life context.Context
	end  context.CancelFunc

	mu     sync.Mutex
	idle   []*Conn // connections that read
	closed bool
	out    sync.WaitGroup // calls that are under way
	// temporary is the directory of a database that Close removes.
	temporary string
}

// maxIdle is how many idle reading connections are kept.
const maxIdle = 4

// Memory is the path of a database that no other opener shares. It is stored in
// a temporary directory, which Close removes.
const Memory = ":memory:"

// Open opens the database at path. A file that does not exist is made, readable by its
// owner only, and so is its directory.
func Open(ctx context.Context, path string, o Options) (*File, error) {
	if path != Memory || o.VFS != "" {
		return open(ctx, path, o)
	}
	dir, err := os.MkdirTemp("", "lcm-memory-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary database: %w", err)
	}
	o.Relaxed = true
	f, err := open(ctx, filepath.Join(dir, "lcm.db"), o)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	f.temporary = dir
	return f, nil
}

func open(ctx context.Context, path string, o Options) (*File, error) {
	if path == "" {
		return nil, &hint.Error{Err: errors.New("no database path was given"), Hint: "set LCM_DATABASE_PATH or database_path"}
	}
	if o.VFS == "" {
		path = Resolve(path)
	}
	o.BusyTimeout, o.CacheKiB, o.Log = cmp.Or(o.BusyTimeout, 30*time.Second), cmp.Or(o.CacheKiB, 16<<10), cmp.Or(o.Log, slog.Default())
	if o.Clock == nil {
		o.Clock = time.Now
	}
	err := prepare(path, o)
	if err == nil && o.VFS == "" {
		err = cmp.Or(checkHeader(path), DamagedWAL(path))
	}
	if err != nil {
		return nil, Explain(path, err)
	}
	c, err := OpenConn(ctx, path, o)
	if err != nil {
		return nil, Explain(path, err)
	}
	f := &File{path: path, opts: o, write: make(chan *Conn, 1)}
	f.life, f.end = context.WithCancel(context.WithoutCancel(ctx))
	err = setUpWriter(ctx, c, o)
	if err == nil && !o.ReadOnly {
		err = syncNames(path, o)
	}
	if err == nil {
		err = f.identify()
	}
	if err != nil {
		f.end()
		return nil, Explain(path, errors.Join(err, c.Close()))
	}
	c.beforeCommit = f.stillThere
	f.write <- c
	if !o.ReadOnly {
		private(path, o)
	}
	return f, nil
}

// Path returns the path of the database file.
func (f *File) Path() string { return f.path }

// Options returns how the file was opened, with defaults filled in.
func (f *File) Options() Options { return f.opts }

// Now returns the time of [Options.Clock].
func (f *File) Now() time.Time { return f.opts.Clock() }

// Background runs work on a goroutine that Close waits for. The context of work
// ends with the file. It reports false if the file is closed.
func (f *File) Background(work func(ctx context.Context)) bool {
	if f.enter() != nil {
		return false
	}
	go func() {
		defer f.out.Done()
		work(f.life)
	}()
	return true
}

// Hold keeps Close waiting until release is called.
func (f *File) Hold() (release func(), err error) {
	if err := f.enter(); err != nil {
		return nil, err
	}
	return f.out.Done, nil
}

// TransactHeld runs fn in a write transaction for a caller of Hold, also after
// Close was called.
func (f *File) TransactHeld(ctx context.Context, fn func(*Conn) error) error {
	var c *Conn
	select {
	case c = <-f.write:
	case <-ctx.Done():
		return fmt.Errorf("waiting to write: %w", ctx.Err())
	}
	defer func() { f.write <- c }()
	defer c.Interrupt(c.Interrupt(ctx))
	return Explain(f.path, c.Write(func() error { return fn(c) }))
}

// Transact runs fn in a write transaction of its own.
func (f *File) Transact(ctx context.Context, fn func(*Conn) error) error {
	return f.Writer(ctx, func(c *Conn) error {
		return c.Write(func() error { return fn(c) })
	})
}

// prepare makes the file and its directory private, before the driver makes
// them with the umask of the process.
func prepare(path string, o Options) error {
	if o.ReadOnly || o.VFS != "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := OrphanWAL(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return Create(path)
	}
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

// private removes the rights of others from the files that SQLite keeps beside
// the database. They come and go with the connections, so this is best effort;
// the directory is private too.
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

// setUpWriter prepares the writing connection: schema check, journal,
// durability, tables.
func setUpWriter(ctx context.Context, c *Conn, o Options) error {
	defer c.Interrupt(c.Interrupt(ctx))
	if err := CheckSchema(c, !o.ReadOnly); err != nil || o.ReadOnly {
		return err
	}
	mode, err := useWAL(ctx, c, o.BusyTimeout)
	if err != nil {
		return err
	}
	if !strings.EqualFold(mode, "wal") {
		return fmt.Errorf("the file system does not allow a write-ahead log (journal mode is %s)", mode)
	}
	sync := "FULL"
	if o.Relaxed {
		sync = "NORMAL"
	}
	if err := c.Script("PRAGMA journal_size_limit=67108864; PRAGMA synchronous=" + sync); err != nil {
		return err
	}
	return prepareTables(c)
}

// useWAL puts the database into WAL mode. Processes that create a database
// together may get a lock error without a call of their busy handler.
func useWAL(ctx context.Context, c *Conn, timeout time.Duration) (mode string, err error) {
	wait := busyWait(timeout)
	for begun := time.Now(); ; {
		mode, err = sqldb.Value[string](c, "PRAGMA journal_mode=WAL")
		if !errors.Is(err, sqlite3.BUSY) || time.Since(begun) >= timeout || !wait(ctx, 0) {
			return mode, err
		}
	}
}

// Writer lends the writing connection to fn.
func (f *File) Writer(ctx context.Context, fn func(*Conn) error) error {
	if f.opts.ReadOnly {
		return Explain(f.path, store.ErrReadOnly)
	}
	if err := f.enter(); err != nil {
		return err
	}
	defer f.out.Done()
	var c *Conn
	select {
	case c = <-f.write:
	case <-ctx.Done():
		return fmt.Errorf("waiting to write: %w", ctx.Err())
	}
	defer func() { f.write <- c }()
	if err := f.stillThere(); err != nil {
		return err
	}
	defer c.Interrupt(c.Interrupt(ctx))
	return Explain(f.path, cancelled(ctx, fn(c)))
}

// Reader lends a reading connection to fn. It returns nil for [sqldb.ErrStop].
func (f *File) Reader(ctx context.Context, fn func(*Conn) error) error {
	if err := f.enter(); err != nil {
		return err
	}
	defer f.out.Done()
	if err := f.stillThere(); err != nil {
		return err
	}
	c, err := f.reader(ctx)
	if err != nil {
		return Explain(f.path, cancelled(ctx, err))
	}
	defer f.release(c)
	defer c.Interrupt(c.Interrupt(ctx))
	if err = fn(c); errors.Is(err, sqldb.ErrStop) {
		err = nil
	}
	return Explain(f.path, cancelled(ctx, err))
}

// enter registers a call, so that Close can wait for it.
func (f *File) enter() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return sqldb.ErrClosed
	}
	f.out.Add(1)
	return nil
}

// reader returns an idle connection or opens another: a caller that reads while
// it iterates must not wait for itself.
func (f *File) reader(ctx context.Context) (*Conn, error) {
	f.mu.Lock()
	if n := len(f.idle); n > 0 {
		c := f.idle[n-1]
		f.idle = f.idle[:n-1]
		f.mu.Unlock()
		return c, nil
	}
	f.mu.Unlock()
	o := f.opts
	o.CacheKiB /= 8
	c, err := OpenConn(ctx, f.path, o)
	if err != nil {
		return nil, err
	}
	if err := c.Script("PRAGMA query_only=ON"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (f *File) release(c *Conn) {
	f.mu.Lock()
	if !f.closed && len(f.idle) < maxIdle {
		f.idle = append(f.idle, c)
		f.mu.Unlock()
		return
	}
	f.mu.Unlock()
	_ = c.Close() // a reader has nothing to lose
}

// ReleaseMemory closes the idle connections that read. Each holds up to a tenth
// of the memory of a server.
func (f *File) ReleaseMemory() {
	if f.enter() != nil {
		return
	}
	defer f.out.Done()
	f.mu.Lock()
	idle := f.idle
	f.idle = nil
	f.mu.Unlock()
	for _, c := range idle {
		_ = c.Close() // a reader has nothing to lose
	}
}

// Close waits for the calls that are under way and closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	idle := f.idle
	f.idle = nil
	f.mu.Unlock()
	f.end()
	f.out.Wait()
	var errs []error
	for _, c := range idle {
		errs = append(errs, c.Close())
	}
	errs = append(errs, (<-f.write).Close())
	f.settle()
	if f.temporary != "" {
		errs = append(errs, os.RemoveAll(f.temporary))
	}
	return errors.Join(errs...)
}

// identify remembers which file is at the path.
func (f *File) identify() (err error) {
	if f.opts.VFS == "" {
		f.info, err = os.Stat(f.path)
	}
	return err
}

// stillThere returns an error if the file was removed or replaced. Writes to
// the open file would be lost when the process ends. The new file is not opened
// instead: its conversations have other ids, and callers hold the old ones.
func (f *File) stillThere() error {
	if f.info == nil {
		return nil
	}
	now, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &hint.Error{Err: fmt.Errorf("database %s: %w", f.path, store.ErrRemoved),
			Hint: "put the file back, or end this program and start it again; nothing was written"}
	case err != nil:
		return Explain(f.path, err)
	case !os.SameFile(f.info, now):
		return &hint.Error{Err: fmt.Errorf("database %s: %w", f.path, store.ErrReplaced),
			Hint: "end this program and start it again to use the new file; nothing was written"}
	}
	return nil
}
