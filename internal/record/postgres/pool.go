package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lossless-context/lcm/internal/kit/turns"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// pool is the [sqldb.DB] of the backend: it limits and repeats what is done with the
// connections of a [pgxpool.Pool].
type pool struct {
	conns *pgxpool.Pool
	name  string // of the database, without a password
	opts  Options

	// life ends when the pool is closed, and background work with it.
	life context.Context
	end  context.CancelFunc

	// writers and readers limit how many connections are lent out.
	writers, readers chan struct{}
	// turns has the transactions that lock the same thing.
	turns turns.Turns

	opened atomic.Bool // the server has answered

	mu      sync.Mutex
	closed  bool
	out     sync.WaitGroup // calls that are under way
	settled settled
}

var _ sqldb.DB = (*pool)(nil)

// perReader is how many connections there may be for each of [Options.MaxReaders]: a
// caller may read while it iterates over another result.
const perReader = 5

// maxIdle is how long an idle connection is kept.
const maxIdle = time.Minute

func newPool(ctx context.Context, config *pgxpool.Config, o Options) (*pool, error) {
	config.MaxConns, config.MaxConnIdleTime = int32(o.MaxWriters+perReader*o.MaxReaders), maxIdle
	conns, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	p := &pool{conns: conns, name: describe(config.ConnConfig), opts: o,
		writers: make(chan struct{}, o.MaxWriters), readers: make(chan struct{}, perReader*o.MaxReaders)}
	p.life, p.end = context.WithCancel(context.WithoutCancel(ctx))
	return p, nil
}

// describe names a database for people, without its password.
func describe(c *pgx.ConnConfig) string {
	return fmt.Sprintf("postgres://%s@%s:%d/%s", c.User, c.Host, c.Port, c.Database)
}

// enter registers a call, so that Close can wait for it.
func (p *pool) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return sqldb.ErrClosed
	}
	p.out.Add(1)
	return nil
}

// lend lends a connection to fn. After a loss the other connections are replaced too:
// they have probably lost the same server.
func (p *pool) lend(ctx context.Context, fn func(*conn) error) error {
	lent, err := p.conns.Acquire(ctx)
	if err != nil {
		return p.explain(ctx, fail(err, ""))
	}
	c := &conn{pg: lent.Conn(), ctx: ctx}
	defer lent.Release()
	err = fn(c)
	if sqldb.ConnectionLost(err) {
		p.conns.Reset()
	}
	return p.explain(ctx, err)
}

// Reader implements [sqldb.DB].
func (p *pool) Reader(ctx context.Context, fn func(sqldb.Conn) error) error {
	return p.read(ctx, true, fn)
}

// read lends a connection to fn. With repeat it does so again, for retryTime, if the
// connection was lost before fn got a row. While the database is being opened it does so
// once, because the address may be wrong, unless the server has no connection left.
func (p *pool) read(ctx context.Context, repeat bool, fn func(sqldb.Conn) error) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.out.Done()
	if err := p.enterReaders(ctx); err != nil {
		return p.explain(ctx, err)
	}
	defer func() { <-p.readers }()
	begun := time.Now()
	for n := 0; ; n++ {
		gave := false
		err := p.lend(ctx, func(c *conn) error {
			defer func() { gave = c.gave }()
			return fn(c)
		})
		switch {
		case errors.Is(err, sqldb.ErrStop):
			return nil
		case !repeat || gave || !sqldb.ConnectionLost(err), n > 0 && !p.opened.Load() && !noneLeft(err), time.Since(begun) > retryTime:
			return err
		}
		wait := repeatWait << min(n, 3)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait/2 + rand.N(wait)):
		}
	}
}

// repeatWait is about how long a read waits before it is repeated the first time.
const repeatWait = 100 * time.Millisecond

// errReadersBusy says that all readers have a connection and none gave it back.
var errReadersBusy = errors.New("all connections that may read are in use")

// enterReaders waits for the permission to read. It gives up after retryTime, because
// the readers that have one may wait for this one.
func (p *pool) enterReaders(ctx context.Context) error {
	select {
	case p.readers <- struct{}{}:
		return nil
	case <-time.After(retryTime):
		return errReadersBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Writer implements [sqldb.DB].
func (p *pool) Writer(ctx context.Context, fn func(sqldb.Conn) error) error {
	if p.opts.ReadOnly {
		return p.explain(ctx, store.ErrReadOnly)
	}
	return p.read(ctx, false, fn)
}

// Transact implements [sqldb.DB].
func (p *pool) Transact(ctx context.Context, fn func(sqldb.Conn) error) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.out.Done()
	return p.TransactHeld(ctx, fn)
}

// TransactOn implements [sqldb.DB]. A transaction waits for its turn before it takes a
// connection, so that at most one connection of a process waits for a lock in the
// database, however many writers of a conversation there are.
func (p *pool) TransactOn(ctx context.Context, name string, fn func(sqldb.Conn) error) error {
	done, err := p.turns.Take(ctx, name)
	if err != nil {
		return fmt.Errorf("waiting to write: %w", err)
	}
	defer done()
	return p.Transact(ctx, fn)
}

// TransactHeld implements [sqldb.DB].
func (p *pool) TransactHeld(ctx context.Context, fn func(sqldb.Conn) error) error {
	if p.opts.ReadOnly {
		return p.explain(ctx, store.ErrReadOnly)
	}
	ctx = p.whileHeld(ctx)
	select {
	case p.writers <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("waiting to write: %w", ctx.Err())
	}
	defer func() { <-p.writers }()
	return p.retry(ctx, func() error {
		return p.lend(ctx, func(c *conn) error { return transact(c, fn) })
	})
}

// whileHeld returns ctx, or one that is not cancelled if the pool is being closed.
func (p *pool) whileHeld(ctx context.Context) context.Context {
	if p.life.Err() != nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

func transact(c *conn, fn func(sqldb.Conn) error) (err error) {
	c.begin(writing)
	defer func() {
		if err != nil {
			c.rollback()
		}
	}()
	if err := fn(c); err != nil {
		return err
	}
	if err := c.commit(); err != nil {
		return &commitError{err: err, xid: c.xid}
	}
	return nil
}

// commitError is an error of COMMIT, with the transaction's number.
type commitError struct {
	err error
	xid uint64
}

func (e *commitError) Error() string { return e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }

// Erase implements [sqldb.DB].
func (p *pool) Erase(ctx context.Context, fn func(sqldb.Conn) error) error {
	return p.TransactOn(ctx, "erase", fn)
}

// Size implements [sqldb.DB].
func (p *pool) Size(ctx context.Context) (s sqldb.Size, err error) {
	err = p.Reader(ctx, func(c sqldb.Conn) error {
		_, err := c.One(`SELECT (SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'),
			(SELECT max(version) FROM lcm_schema)`, sqldb.Into(&s.Stored, &s.Schema))
		s.Used = s.Stored
		return err
	})
	return s, err
}

// Background implements [sqldb.DB].
func (p *pool) Background(work func(ctx context.Context)) bool {
	if p.enter() != nil {
		return false
	}
	go func() {
		defer p.out.Done()
		work(p.life)
	}()
	return true
}

// Hold implements [sqldb.DB].
func (p *pool) Hold() (release func(), err error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	return p.out.Done, nil
}

// Now implements [sqldb.DB].
func (p *pool) Now() time.Time { return p.opts.Clock() }

// indexCache is larger than that of SQLite: reading a section of the index takes a round
// trip to the server, and not a page of the file cache.
const indexCache = 64 << 20

// Settings implements [sqldb.DB].
func (p *pool) Settings() sqldb.Settings {
	return sqldb.Settings{ReadOnly: p.opts.ReadOnly, DeferIndex: p.opts.DeferIndex, IndexCache: indexCache, Log: p.opts.Log}
}

// close waits for the calls that are under way and closes the connections.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end()
	p.out.Wait()
	p.conns.Close()
}

// retryTime is how long a read or a write is tried again after failures that left nothing
// behind.
const retryTime = 30 * time.Second

// retry runs a transaction again while it fails in a way that left nothing behind:
// another transaction was in the way, or the connection was lost before the commit.
func (p *pool) retry(ctx context.Context, run func() error) error {
	begun := time.Now()
	for n := 0; ; n++ {
		err := run()
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == hungUp && n < maxConflicts {
			begun = time.Now() // the server has waited for as long
		}
		if err == nil || !p.retryable(err, n) || ctx.Err() != nil || time.Since(begun) > retryTime {
			return err
		}
		wait := min(time.Second, time.Duration(1<<min(n, 10))*time.Millisecond)
		select {
		case <-time.After(wait/2 + rand.N(wait)):
		case <-ctx.Done():
			return err
		}
	}
}

// hungUp is the code of a transaction that the server ended because its process hung.
const hungUp = "25P03"

// maxConflicts is how often a transaction that violates a unique index is tried again.
// Two that store the same thing at once do so one after the other then.
const maxConflicts = 5

func (p *pool) retryable(err error, n int) bool {
	if errors.Is(err, errUnanswered) {
		return false
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "40001", "40P01", hungUp: // serialization failure, deadlock
			return true
		case "23505": // unique violation
			return n < maxConflicts
		}
	}
	return sqldb.ConnectionLost(err)
}
