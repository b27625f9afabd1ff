// Package postgres is the store in a PostgreSQL database, for many agents on many
// machines. It stores the same record as package sqlite, with the same statements
// (package sqldb) and the same search segments, and the same history has the same
// digest.
//
// Any number of processes may use a database at once. Writers of different
// conversations do not wait for each other; those of one conversation wait in order, in
// their process and then for the lock of its row. An erasure stops the writers of the
// conversations that lose messages. An acknowledged write has been committed with the
// server's synchronous_commit.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/backend"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Options says how a database is opened. The zero value is a good default.
type Options struct {
	// Relaxed acknowledges writes before the server has synced them
	// (synchronous_commit=off).
	Relaxed bool
	// ReadOnly opens an existing database without ever writing to it.
	ReadOnly bool
	// DeferIndex leaves indexing to an explicit call of Reindex. Searches are
	// complete without it.
	DeferIndex bool
	// MaxWriters is how many transactions of this process write at a time (16), and
	// MaxReaders how many callers read (16): each may read up to five results at once.
	MaxWriters, MaxReaders int
	// Clock returns the current time (time.Now).
	Clock func() time.Time
	// Log receives failures of background work (slog.Default).
	Log *slog.Logger

	dial pgconn.DialFunc // of tests that count round trips
}

// DB is a [store.Store] in a PostgreSQL database.
type DB struct {
	backend.Store
	pool *pool
}

var _ store.Store = (*DB)(nil)

// IsURL reports whether a database path names a PostgreSQL database.
func IsURL(path string) bool {
	return strings.HasPrefix(path, "postgres://") || strings.HasPrefix(path, "postgresql://")
}

// Open connects to the database of a URL (postgres://user@host:port/name), and makes its
// tables if it is empty. The password comes from PGPASSFILE, PGPASSWORD or the URL.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, &hint.Error{Err: errors.New("the address of the database is not a URL that PostgreSQL understands"),
			Hint: "write it as postgres://user@host:5432/name, and the password into PGPASSFILE or PGPASSWORD"}
	}
	o.MaxWriters, o.MaxReaders = cmp.Or(o.MaxWriters, 16), cmp.Or(o.MaxReaders, 16)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Clock == nil {
		o.Clock = time.Now
	}
	set := func(name, value string) {
		if _, chosen := config.ConnConfig.RuntimeParams[name]; !chosen {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	set("application_name", "lcm")
	// The statements read by keys and short ranges; compiling them takes longer.
	set("jit", "off")
	// Every statement has an index. Where statistics are missing, or a fold has left a
	// table and its index with many empty pages, the planner would read them all.
	set("enable_bitmapscan", "off")
	set("enable_seqscan", "off")
	if o.Relaxed {
		set("synchronous_commit", "off")
	}
	if o.ReadOnly {
		set("default_transaction_read_only", "on")
	}
	config.ConnConfig.OnNotice = nil
	if o.dial != nil {
		config.ConnConfig.DialFunc = o.dial
	}
	config.ConnConfig.StatementCacheCapacity = 1024
	p, err := newPool(ctx, config, o)
	if err != nil {
		return nil, err
	}
	db := &DB{backend.New(p), p}
	if err = p.prepare(ctx); err == nil {
		err = db.Index.Load(ctx)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	p.opened.Store(true)
	return db, nil
}

// Path returns the address of the database, without a password.
func (db *DB) Path() string { return db.pool.name }

// Update implements [store.Store].
func (db *DB) Update(ctx context.Context, id store.ConversationID, fn func(store.Writer) error) error {
	for {
		done, err := db.Records.Update(ctx, id, fn)
		if errors.Is(err, errUnanswered) {
			stored, known := db.pool.wasStored(ctx, id, done, err)
			switch {
			case known && stored:
				err = nil
			case known:
				continue
			}
		}
		if err == nil {
			db.Index.Written(ctx, done)
		}
		return err
	}
}

// wasStored finds out whether a transaction was committed whose commit was not answered.
// Messages are looked up by their ids and links. Anything else is known not to be stored
// if the server says that the transaction was aborted; it is not believed when it says
// the opposite, because after a crash it may use a number again. A caller whose ctx ends
// waits for lookupTime at most.
func (p *pool) wasStored(ctx context.Context, id store.ConversationID, done rows.Written, cause error) (stored, known bool) {
	lost, ok := errors.AsType[*commitError](cause)
	if !ok {
		return false, false
	}
	ended := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(ended))
	defer cancel()
	defer context.AfterFunc(ended, func() { time.AfterFunc(lookupTime, cancel) })()
	err := p.retry(ctx, func() error {
		return p.Reader(ctx, func(c sqldb.Conn) error {
			status, err := sqldb.Value[string](c, `SELECT pg_xact_status(CAST(CAST(? AS text) AS xid8))`, fmt.Sprint(lost.xid))
			if sqldb.ConnectionLost(err) {
				return err
			}
			if status == "in progress" {
				return &sqldb.Error{Err: errInProgress, Message: errInProgress.Error(), Lost: true}
			}
			if done.Last == 0 {
				stored, known = false, err == nil && status == "aborted"
				return nil
			}
			stored, err = c.Has(`SELECT 1 FROM messages WHERE id = ? AND conversation = ? AND chain = ?`, int64(done.Last), int64(id), done.Head[:])
			known = err == nil
			return err
		})
	})
	return stored, known && err == nil
}

const lookupTime = 5 * time.Second

var errInProgress = errors.New("the transaction is still in progress")

// ReleaseMemory implements [store.Store].
func (db *DB) ReleaseMemory() { db.Index.ReleaseMemory() }

// Close seals the search index of what was written, waits for the calls that are under
// way and closes the connections.
func (db *DB) Close() error {
	db.Index.Close()
	db.pool.close()
	return nil
}
