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

	"github.com/lossless-context/lcm/internal/kit/turns"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// pool lends out connections: it is the [sqldb.DB] of the backend.
type pool struct {
	config *pgx.ConnConfig
	name   string // of the database, without a password
	opts   Options

	// life ends when the pool is closed, and background work with it.
	life context.Context
	end  context.CancelFunc

	// writers and readers limit how many connections are lent out, and extra how many
	// more readers there may be.
	writers, readers, extra chan struct{}
	// turns has the transactions that lock the same thing.
	turns turns.Turns

	opened atomic.Bool // the server has answered

	mu      sync.Mutex
	idle    []*conn
	lost    time.Time // when a connection was lost last
	closed  bool
	out     sync.WaitGroup // calls that are under way
	settled settled
}

var _ sqldb.DB = (*pool)(nil)

// maxExtra is how many more readers there may be for each of [Options.MaxReaders].
const maxExtra = 4

// maxIdle is how many idle connections are kept.
const maxIdle = 8

// patience is how long a reader waits for one of the connections. After that it may get
// one more: a caller that reads while it iterates over another result would otherwise
// wait for itself.
const patience = 100 * time.Millisecond

func newPool(ctx context.Context, config *pgx.ConnConfig, o Options) *pool {
	p := &pool{config: config, name: describe(config), opts: o,
		writers: make(chan struct{}, o.MaxWriters), readers: make(chan struct{}, o.MaxReaders), extra: make(chan struct{}, maxExtra*o.MaxReaders)}
	p.life, p.end = context.WithCancel(context.WithoutCancel(ctx))
	return p
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

// stale is the age at which an idle connection is asked whether the server still
// answers on it.
const stale = time.Second

// connect returns an idle connection, or a new one.
func (p *pool) connect(ctx context.Context) (*conn, error) {
	for {
		c := p.takeIdle()
		if c == nil {
			break
		}
		if err := c.finish(ctx); err == nil && (p.fresh(c) || c.pg.Ping(ctx) == nil) {
			return c, nil
		}
		_ = c.pg.Close(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	pg, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return nil, fail(err, "")
	}
	return &conn{pg: pg}, nil
}

// fresh reports whether an idle connection was used a moment ago, and none was lost since.
func (p *pool) fresh(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(c.used) < stale && c.used.After(p.lost)
}

func (p *pool) takeIdle() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return c
}

// giveBack keeps a connection for the next caller, or closes it.
func (p *pool) giveBack(c *conn) {
	c.used, c.ctx = time.Now(), nil
	healthy := !c.pg.IsClosed() && c.in == noTx && (c.ending != nil || c.pg.PgConn().TxStatus() == 'I')
	p.mu.Lock()
	if healthy && !p.closed && len(p.idle) < maxIdle+cap(p.writers) {
		p.idle = append(p.idle, c)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.life), rollbackTime)
	defer cancel()
	_ = c.pg.Close(ctx)
}

// lend lends a connection to fn.
func (p *pool) lend(ctx context.Context, fn func(*conn) error) error {
	c, err := p.connect(ctx)
	if err != nil {
		return p.explain(ctx, err)
	}
	c.ctx, c.gave = ctx, false
	defer p.giveBack(c)
	err = fn(c)
	if sqldb.ConnectionLost(err) {
		p.mu.Lock()
		p.lost = time.Now()
		p.mu.Unlock()
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
	leave, err := p.enterReaders(ctx)
	if err != nil {
		return p.explain(ctx, err)
	}
	defer leave()
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
func (p *pool) enterReaders(ctx context.Context) (leave func(), err error) {
	in := func(c chan struct{}) func() { return func() { <-c } }
	select {
	case p.readers <- struct{}{}:
		return in(p.readers), nil
	default:
	}
	var extra chan struct{}
	for patient, end := time.After(patience), time.After(retryTime); ; {
		select {
		case p.readers <- struct{}{}:
			return in(p.readers), nil
		case extra <- struct{}{}:
			return in(extra), nil
		case <-patient:
			extra = p.extra
		case <-end:
			return nil, errReadersBusy
		case <-ctx.Done():
			return nil, ctx.Err()
		}
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
		if err != nil && c.in != noTx {
			_ = c.rollback()
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
func (p *pool) close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.mu.Unlock()
	p.end()
	p.out.Wait()
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.life), rollbackTime)
	defer cancel()
	for _, c := range idle {
		_ = c.pg.Close(ctx)
	}
	return nil
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
