// Package pages reads the rows of a damaged database file page by page: SQLite refuses
// truncated files, and everything behind a damaged page.
package pages

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs/readervfs"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/archive"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// Rows yields the readable rows of tables of a file, which it only reads. schema is the
// sound schema.
func Rows(ctx context.Context, path string, schema map[string]dbfile.Object, tables []string) iter.Seq2[archive.Item, error] {
	return func(yield func(archive.Item, error) bool) {
		p, err := openPages(dbfile.Resolve(path))
		if err != nil {
			yield(archive.Item{}, dbfile.Explain(path, err))
			return
		}
		defer p.Close()
		if dbfile.DamagedWAL(path) != nil && len(p.logged) == 0 {
			err := errors.New("nothing in the write-ahead log can be read: the newest messages are lost")
			if !yield(archive.Item{}, &hint.Error{Err: err, Kind: archive.ErrDamaged}) {
				return
			}
		}
		r := &reader{pageFile: p, ctx: ctx, schema: schema, yield: yield}
		name := fmt.Sprintf("lcm-pages-%d", opened.Add(1))
		readervfs.Create(name, p)
		defer readervfs.Delete(name)
		if raw, err := sqlite3.OpenFlags("file:"+name+"?vfs=reader", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI); err == nil {
			_, _ = raw.Config(sqlite3.DBCONFIG_ENABLE_VIEW, false) // somebody's view may have the name of a table
			r.sql = dbfile.NewConn(raw)
			defer r.sql.Close()
		}
		if err := cmp.Or(r.read(tables), ctx.Err()); err != nil && !errors.Is(err, sqldb.ErrStop) {
			yield(archive.Item{}, err)
		}
	}
}

var opened atomic.Int64

// reader reads rows from the pages of a file.
type reader struct {
	*pageFile
	ctx    context.Context
	schema map[string]dbfile.Object
	sql    *dbfile.Conn // reads the file with SQLite; nil where that fails
	yield  func(archive.Item, error) bool
}

// read has SQLite read each table up to its first damaged page. Then it reads every page that
// is in use and takes the rows by their shape; those that are there already are not loaded
// twice. Tables without row ids are not read so: all but tombstones and state can be derived.
func (s *reader) read(tables []string) error {
	have, shapes := map[string]dbfile.Object{}, maps.Clone(s.schema)
	if s.sql != nil {
		have, _ = dbfile.Objects(s.sql) // the schema may be damaged
		maps.Copy(shapes, have)
	}
	for _, table := range tables {
		columns := have[table].ColumnNames()
		if columns == nil {
			continue
		}
		err := s.sql.Query("SELECT "+quoted(columns)+" FROM "+table, func(r sqldb.Row) error {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = r.ColumnValue(i)
			}
			return cmp.Or(s.give(table, columns, values), s.ctx.Err())
		})
		if errors.Is(err, sqldb.ErrStop) {
			return err
		}
	}
	rowid := slices.DeleteFunc(slices.Clone(tables), func(table string) bool { return strings.Contains(s.schema[table].Sql, "WITHOUT ROWID") })
	free := s.free()
	for n := uint32(2); n <= s.count && s.ctx.Err() == nil; n++ {
		if free[n] {
			continue
		}
		page, rows := s.leaf(n)
		for _, at := range rows {
			id, values, ok := s.row(page, at)
			if table := guess(rowid, shapes, values); ok && table != "" {
				if numbered(shapes[table]) {
					values[0] = id
				}
				if err := s.give(table, shapes[table].ColumnNames(), values); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// free returns the unused pages, which hold removed rows.
func (s *reader) free() []bool {
	free := make([]bool, s.count+1)
	trunk := binary.BigEndian.Uint32(s.page(1)[32:])
	for trunk != 0 && trunk <= s.count && !free[trunk] {
		free[trunk] = true
		page := s.page(trunk)
		for i := range min(int64(binary.BigEndian.Uint32(page[4:])), s.pageSize/4-2) {
			if n := binary.BigEndian.Uint32(page[8+4*i:]); n != 0 && n <= s.count {
				free[n] = true
			}
		}
		trunk = binary.BigEndian.Uint32(page)
	}
	return free
}

// numbered reports whether the first column of a table is the row id, which is NULL in the row.
func numbered(table dbfile.Object) bool {
	first := table.Columns[0].Name
	return first == "id" || first == "num"
}

// guess returns the table of a row by the number and types of its columns, or "".
func guess(tables []string, shapes map[string]dbfile.Object, values []any) string {
	for _, table := range tables {
		columns := shapes[table].Columns
		if len(columns) < 2 || len(columns) != len(values) {
			continue
		}
		fits := !numbered(shapes[table]) || values[0] == nil
		for i, col := range columns {
			fits = fits && (i == 0 && values[0] == nil || values[i] != nil || !col.NotNull) && typed(col.Decl, values[i])
		}
		if fits {
			return table
		}
	}
	return ""
}

func typed(decl string, value any) bool {
	switch value.(type) {
	case nil:
		return true
	case int64:
		return decl == "INTEGER"
	case string:
		return decl == "TEXT"
	case []byte:
		return decl == "BLOB"
	}
	return false
}

// give yields the values of a row that lcm can have written.
func (s *reader) give(table string, columns []string, values []any) error {
	row := archive.Row{Table: table, Damaged: "it is from a damaged file"}
	for i, v := range values {
		known := slices.ContainsFunc(s.schema[table].Columns, func(c dbfile.ColumnDef) bool { return c.Name == columns[i] })
		if record, is := v.([]byte); is && table == "messages" && columns[i] == "record" {
			v = sqldb.Unpack(record)
		}
		if _, odd := v.(float64); known && v != nil && !odd {
			row.Columns, row.Values = append(row.Columns, columns[i]), append(row.Values, v)
		}
	}
	if !s.yield(archive.Item{Row: row}, nil) {
		return sqldb.ErrStop
	}
	return nil
}

// quoted lists names that a damaged file has.
func quoted(names []string) string {
	var list []string
	for _, name := range names {
		list = append(list, sqlite3.QuoteIdentifier(name))
	}
	return strings.Join(list, ", ")
}
