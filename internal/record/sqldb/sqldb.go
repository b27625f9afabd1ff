// Package sqldb is the port between the record and a database that speaks SQL.
//
// The packages below it store the record in tables: record, state, search, erase,
// tombstone, vectors, mapitems and verify. They hold the SQL, and both backends use them:
// internal/record/sqlite on a file, internal/record/postgres on a server. A backend implements [DB],
// which lends out connections, and [Conn], which runs statements.
//
// The SQL is the common part of both dialects: parameters are ? or ?1, TRUE and FALSE
// are written out, and rows of a list of numbers come from `json_each(?) j`, of texts
// from `json_each(?) t`, which a backend may replace. Where the dialects differ otherwise, the text is in [Dialect].
package sqldb

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// ErrStop ends a query early. [DB.Reader] returns nil for it.
var ErrStop = errors.New("stop")

// ErrClosed is returned by every call after Close.
var ErrClosed = errors.New("the store is closed")

// DB lends out the connections of an open database.
type DB interface {
	// Reader lends a connection to fn. It returns nil for [ErrStop]. Statements
	// that must see one state run in [Conn.Read]. It may run fn again if the
	// connection was lost before fn got a row.
	Reader(ctx context.Context, fn func(Conn) error) error
	// Writer lends a connection that may write to fn, without a transaction.
	Writer(ctx context.Context, fn func(Conn) error) error
	// Snapshot runs fn in one read transaction. No transaction that is still
	// under way can add a document with a number up to those in settled.
	Snapshot(ctx context.Context, fn func(c Conn, settled Settled) error) error
	// Transact runs fn in a write transaction of its own. It may run fn again if
	// the transaction failed and nothing of it was stored.
	Transact(ctx context.Context, fn func(Conn) error) error
	// TransactOn is Transact for a transaction that locks something that other
	// transactions lock too, such as a conversation. Transactions of this process
	// with the same name run one after the other, in the order of the calls.
	TransactOn(ctx context.Context, name string, fn func(Conn) error) error
	// TransactHeld is Transact for a caller of Hold, also after Close was called.
	TransactHeld(ctx context.Context, fn func(Conn) error) error
	// Erase is Transact for an erasure. Erasures of this process run one after the
	// other; fn locks the conversations that it changes.
	Erase(ctx context.Context, fn func(Conn) error) error
	// Scrub removes the remains of deleted rows.
	Scrub(ctx context.Context) error
	// Size returns the room that the database takes.
	Size(ctx context.Context) (Size, error)
	// Background runs work on a goroutine that Close waits for. The context of
	// work ends with the database. It reports false if the database is closed.
	Background(work func(ctx context.Context)) bool
	// Hold keeps Close waiting until release is called.
	Hold() (release func(), err error)
	// Now returns the current time.
	Now() time.Time
	// Settings returns how the database was opened.
	Settings() Settings
}

// Settings are the options of a database that the packages above it follow.
type Settings struct {
	ReadOnly bool
	// DeferIndex leaves indexing to an explicit call.
	DeferIndex bool
	// IndexCache is how many bytes of the search index a process keeps in memory, 0
	// for a small default.
	IndexCache int
	// Log receives failures of background work.
	Log *slog.Logger
}

// Size is the room that a database takes, in bytes, and the version of its schema.
type Size struct {
	Stored int64 // as the file system counts it, without the log
	Used   int64 // by its pages
	Free   int64 // pages that hold nothing
	Log    int64 // the write-ahead log, where it belongs to this database alone
	Schema int
}

// Settled are the highest numbers of documents below every transaction in flight.
type Settled struct{ Messages, Summaries int64 }

// Conn runs statements on one connection. One goroutine may use it at a time; a row
// function may use it too.
type Conn interface {
	// Query calls row for each row.
	Query(sql string, row func(Row) error, args ...any) error
	// Stream is Query for a result of any length that a row function may end
	// early: a backend need not load it whole. sql must have a total order (ORDER BY
	// columns that no two rows share), because a backend may run it more than once.
	Stream(sql string, row func(Row) error, args ...any) error
	// One calls row for the first row. found reports whether there was one.
	One(sql string, row func(Row) error, args ...any) (found bool, err error)
	// Has reports whether a query returns a row.
	Has(sql string, args ...any) (bool, error)
	// Exec runs a statement whose rows and number of changes nobody needs. A
	// backend may report its error with a later statement of the transaction.
	Exec(sql string, args ...any) error
	// ExecAll runs statements one after the other, each with args, up to the
	// first error.
	ExecAll(statements []string, args ...any) error
	// Update runs a statement and returns how many rows it changed.
	Update(sql string, args ...any) (changed int64, err error)
	// Insert runs an INSERT and returns the given column of the new row, or 0 if
	// the statement inserted none.
	Insert(column, sql string, args ...any) (id int64, err error)
	// Script runs statements without parameters.
	Script(sql string) error
	// Read runs fn in one read transaction, so that all its statements see the
	// same state. Inside a transaction it only calls fn.
	Read(fn func() error) error
	// Dangling calls found for each row that refers to a missing row, with the
	// table and the table that it refers to.
	Dangling(found func(table, parent string) error) error
	// Dialect returns the texts in which the backend's SQL differs.
	Dialect() *Dialect
	// Buffer returns an empty buffer for a value that is valid until the next
	// call; KeepBuffer gives it back, as it was extended.
	Buffer() []byte
	KeepBuffer(b []byte)
}

// Dialect holds the parts of SQL that differ between backends.
type Dialect struct {
	// ForUpdate ends a SELECT whose row of table c the transaction will change,
	// ForShare one whose row of table p must stay until it ends, and ForUnchanged
	// one whose rows of table m must not change until it ends. A backend with one
	// writer at a time needs none.
	ForUpdate, ForShare, ForUnchanged string
	// LockName is a statement with one text parameter that keeps other
	// transactions with the same text waiting until this one ends, or empty.
	LockName string
	// NextConversation is an expression: the number of a new conversation.
	NextConversation string
	// NextMessage is an expression: the number of a new message. NextMessages is a query
	// for as many of them as its parameter says, in order. It is empty where the next
	// numbers are known without asking.
	NextMessage, NextMessages string
	// AfterCopy are statements to run after rows were copied with their numbers.
	AfterCopy []string
	// Greatest is the function that returns the greater of two values.
	Greatest string
}

// Scratch is the part of a [Conn] that packages above it keep with the connection.
type Scratch struct {
	buffer []byte
}

// maxBuffer is the largest buffer that a connection keeps.
const maxBuffer = 1 << 20

// Buffer implements [Conn].
func (s *Scratch) Buffer() []byte { return s.buffer[:0] }

// KeepBuffer implements [Conn].
func (s *Scratch) KeepBuffer(b []byte) {
	if cap(b) <= maxBuffer {
		s.buffer = b
	}
}

// LockName keeps other transactions with the same name waiting until this one ends.
func LockName(c Conn, name string) error {
	if lock := c.Dialect().LockName; lock != "" {
		return c.Exec(lock, name)
	}
	return nil
}

// Row is one row of a result. Columns count from 0; NULL reads as the zero value.
type Row interface {
	ColumnNull(i int) bool
	ColumnBool(i int) bool
	ColumnInt(i int) int
	ColumnInt64(i int) int64
	ColumnText(i int) string
	// ColumnBlob appends a copy of the bytes to buf[:0].
	ColumnBlob(i int, buf []byte) []byte
	// ColumnRawBlob returns bytes that are valid until the next row.
	ColumnRawBlob(i int) []byte
	// ColumnValue returns a copy of the value: nil, bool, int64, string or []byte.
	ColumnValue(i int) any
}
