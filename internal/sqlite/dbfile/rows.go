package dbfile

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"reflect"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// ErrStop ends a query early. [File.Reader] returns nil for it.
var ErrStop = errors.New("stop")

// Into returns a row function for [Conn.Query] and [Conn.One] that reads the
// columns of a row into variables. NULL reads as the zero value.
func Into(to ...any) func(*sqlite3.Stmt) error {
	return func(s *sqlite3.Stmt) error {
		for i, p := range to {
			switch p := p.(type) {
			case *bool:
				*p = s.ColumnBool(i)
			case *[]byte:
				*p = s.ColumnBlob(i, nil)
			case *[sha256.Size]byte:
				*p = Hash(s, i)
			case *time.Time:
				*p = Millis(s, i)
			default:
				switch v := reflect.ValueOf(p).Elem(); {
				case v.CanInt():
					v.SetInt(s.ColumnInt64(i))
				case v.CanUint():
					v.SetUint(uint64(s.ColumnInt64(i)))
				default:
					v.SetString(s.ColumnText(i))
				}
			}
		}
		return nil
	}
}

// Value returns the first column of the first row, or the zero value if there
// is no row.
func Value[T any](c *Conn, sql string, args ...any) (v T, err error) {
	_, err = c.One(sql, Into(&v), args...)
	return v, err
}

// Column returns the first column of all rows.
func Column[T any](c *Conn, sql string, args ...any) (all []T, err error) {
	var v T
	row := Into(&v)
	err = c.Query(sql, func(s *sqlite3.Stmt) error {
		err := row(s)
		all = append(all, v)
		return err
	}, args...)
	return all, err
}

// List returns the result of scan for all rows.
func List[T any](c *Conn, sql string, scan func(*sqlite3.Stmt) T, args ...any) (all []T, err error) {
	err = c.Query(sql, func(s *sqlite3.Stmt) error {
		all = append(all, scan(s))
		return nil
	}, args...)
	return all, err
}

// Millis reads a time column; NULL is the zero time.
func Millis(s *sqlite3.Stmt, col int) time.Time {
	if s.ColumnType(col) == sqlite3.NULL {
		return time.Time{}
	}
	return time.UnixMilli(s.ColumnInt64(col)).UTC()
}

// Hash reads a column with a SHA-256.
func Hash(s *sqlite3.Stmt, col int) (sum [sha256.Size]byte) {
	copy(sum[:], s.ColumnRawBlob(col))
	return sum
}

// Read runs fn in a read transaction of a reading connection and returns its
// result.
func Read[T any](ctx context.Context, f *File, fn func(*Conn) (T, error)) (v T, err error) {
	err = f.Reader(ctx, func(c *Conn) error {
		return c.Read(func() error {
			v, err = fn(c)
			return err
		})
	})
	return v, err
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

// Each calls fn for the items of a list up to the first error.
func Each[T any](list []T, fn func(T) error) error {
	for _, item := range list {
		if err := fn(item); err != nil {
			return err
		}
	}
	return nil
}

// Steps runs functions one after the other up to the first error.
func Steps(steps ...func() error) error {
	return Each(steps, func(step func() error) error { return step() })
}
