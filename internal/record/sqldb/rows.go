package sqldb

import (
	"context"
	"crypto/sha256"
	"reflect"
	"time"
)

// Into returns a row function for [Conn.Query] and [Conn.One] that reads the
// columns of a row into variables; see [Scan].
func Into(to ...any) func(Row) error {
	return func(s Row) error {
		Scan(s, to...)
		return nil
	}
}

// Scan reads the columns of a row into variables. NULL reads as the zero value.
func Scan(s Row, to ...any) {
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
}

// Value returns the first column of the first row, or the zero value if there
// is no row.
func Value[T any](c Conn, sql string, args ...any) (v T, err error) {
	_, err = c.One(sql, Into(&v), args...)
	return v, err
}

// Column returns the first column of all rows.
func Column[T any](c Conn, sql string, args ...any) (all []T, err error) {
	return List(c, sql, func(s Row) (v T) {
		Scan(s, &v)
		return v
	}, args...)
}

// List returns the result of scan for all rows.
func List[T any](c Conn, sql string, scan func(Row) T, args ...any) (all []T, err error) {
	err = c.Query(sql, func(s Row) error {
		all = append(all, scan(s))
		return nil
	}, args...)
	return all, err
}

// Millis reads a time column; NULL is the zero time.
func Millis(s Row, col int) time.Time {
	if s.ColumnNull(col) {
		return time.Time{}
	}
	return time.UnixMilli(s.ColumnInt64(col)).UTC()
}

// Hash reads a column with a SHA-256.
func Hash(s Row, col int) (sum [sha256.Size]byte) {
	copy(sum[:], s.ColumnRawBlob(col))
	return sum
}

// Null turns an empty value into NULL.
func Null[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// Read runs fn in a read transaction and returns its result. It runs fn again, once, if
// the connection was lost while fn ran.
func Read[T any](ctx context.Context, db DB, fn func(Conn) (T, error)) (v T, err error) {
	for range 2 {
		ran := false
		err = db.Reader(ctx, func(c Conn) error {
			return c.Read(func() error {
				ran = true
				v, err = fn(c)
				return err
			})
		})
		if !ran || !ConnectionLost(err) || ctx.Err() != nil {
			break
		}
	}
	return v, err
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

// Texts returns texts as a parameter for `json_each(?) t`, whose rows have them as
// t.value.
func Texts[T ~string](texts []T) []string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = string(text)
	}
	return list
}

// IDs returns numbers as a parameter for `json_each(?) j`, whose rows have them in
// order as j.value, counted by j.rowid.
func IDs[T ~int64](ids []T) []int64 {
	list := make([]int64, len(ids))
	for i, id := range ids {
		list[i] = int64(id)
	}
	return list
}
