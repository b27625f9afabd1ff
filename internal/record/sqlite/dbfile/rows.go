package dbfile

import (
	"cmp"
	"context"
	"errors"

	"github.com/ncruces/go-sqlite3"
)

// row is a row of the driver as a [sqldb.Row].
type row struct{ *sqlite3.Stmt }

// ColumnNull implements [sqldb.Row].
func (r row) ColumnNull(i int) bool { return r.ColumnType(i) == sqlite3.NULL }

// ColumnValue implements [sqldb.Row].
func (r row) ColumnValue(i int) any {
	switch r.ColumnType(i) {
	case sqlite3.INTEGER:
		return r.ColumnInt64(i)
	case sqlite3.NULL:
		return nil
	case sqlite3.BLOB:
		return r.ColumnBlob(i, []byte{})
	}
	return r.ColumnText(i) // lcm stores no other numbers
}

// WithConn runs fn with a connection of its own to the file at path, and closes
// it. ctx interrupts its statements.
func WithConn(ctx context.Context, path string, o Options, fn func(*Conn) error) error {
	o.CacheKiB = cmp.Or(o.CacheKiB, 1<<10)
	c, err := OpenConn(ctx, path, o)
	if err != nil {
		return err
	}
	old := c.Interrupt(ctx)
	err = fn(c)
	c.Interrupt(old)
	return errors.Join(err, c.Close())
}

// WithFile runs fn with the open database at path, and closes it.
func WithFile[T any](ctx context.Context, path string, o Options, fn func(*File) (T, error)) (v T, err error) {
	f, err := Open(ctx, path, o)
	if err != nil {
		return v, err
	}
	v, err = fn(f)
	return v, errors.Join(err, f.Close())
}
