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
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs/readervfs"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/portable"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// Rows yields the readable rows of tables of a file, which it only reads. schema is the
// sound schema; the columns are those of the file where it says them.
func Rows(ctx context.Context, path string, schema map[string]dbfile.Object, tables []string) iter.Seq2[portable.Item, error] {
	return func(yield func(portable.Item, error) bool) {
		p, err := openPages(dbfile.Resolve(path))
		if err != nil {
			yield(portable.Item{}, dbfile.Explain(path, err))
			return
		}
		defer p.Close()
		if dbfile.DamagedWAL(path) != nil && len(p.logged) == 0 {
			err := errors.New("nothing in the write-ahead log can be read: the newest messages are lost")
			if !yield(portable.Item{}, &hint.Error{Err: err, Kind: portable.ErrDamaged}) {
				return
			}
		}
		r := &reader{pageFile: p, ctx: ctx, schema: schema, columns: map[string][]string{}, seen: make([]bool, p.count+1), yield: yield}
		name := fmt.Sprintf("lcm-pages-%d", opened.Add(1))
		readervfs.Create(name, p)
		defer readervfs.Delete(name)
		if raw, err := sqlite3.OpenFlags("file:"+name+"?vfs=reader", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI); err == nil {
			_, _ = raw.Config(sqlite3.DBCONFIG_ENABLE_VIEW, false) // somebody's view may have the name of a table
			r.sql = dbfile.NewConn(raw)
			defer r.sql.Close()
		}
		if err := cmp.Or(r.read(tables), ctx.Err()); err != nil && !errors.Is(err, sqldb.ErrStop) {
			yield(portable.Item{}, err)
		}
	}
}

var opened atomic.Int64

// reader reads rows from the pages of a file.
type reader struct {
	*pageFile
	ctx     context.Context
	schema  map[string]dbfile.Object
	columns map[string][]string // of each table in the file
	seen    []bool              // pages that were read, or that are free
	sql     *dbfile.Conn        // reads the file with SQLite; nil where that fails
	yield   func(portable.Item, error) bool
}

// read reads the tables with row ids first: the pages that the schema leads to, then lost
// pages, by the shape of their rows. SQLite reads the others as far as it can: all but
// tombstones and state can be derived.
func (s *reader) read(tables []string) error {
	s.readColumns(tables)
	roots := map[string]uint32{}
	err := s.walk(1, func(_ int64, values []any) error {
		if len(values) == 5 && values[0] == "table" {
			name, _ := values[1].(string)
			root, _ := values[3].(int64)
			roots[name] = uint32(root)
		}
		return nil
	})
	if err != nil {
		return err
	}
	keyed := func(table string) bool { return strings.Contains(s.schema[table].Sql, "WITHOUT ROWID") }
	rowid := slices.DeleteFunc(slices.Clone(tables), keyed)
	for _, table := range rowid {
		err := s.walk(roots[table], func(id int64, values []any) error { return s.add(table, id, values) })
		if err != nil {
			return err
		}
	}
	s.free() // after the tables: the list of free pages may be damaged too
	for n := uint32(2); n <= s.count; n++ {
		if s.seen[n] {
			continue
		}
		if err := s.leaf(n, func(id int64, values []any) error { return s.add(s.guess(rowid, values), id, values) }); err != nil {
			return err
		}
	}
	for _, table := range tables {
		if !keyed(table) || s.sql == nil {
			continue
		}
		columns := s.columns[table]
		err := s.sql.Query("SELECT "+quoted(columns)+" FROM "+table, func(r sqldb.Row) error {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = r.ColumnValue(i)
			}
			return s.give(table, columns, values)
		})
		if errors.Is(err, sqldb.ErrStop) {
			return err
		}
	}
	return nil
}

// readColumns reads which columns the tables have, without those that lcm does not know.
func (s *reader) readColumns(tables []string) {
	var have map[string]dbfile.Object
	if s.sql != nil {
		have, _ = dbfile.Objects(s.sql) // the schema may be damaged
	}
	for _, table := range tables {
		s.columns[table] = have[table].ColumnNames()
		if s.columns[table] == nil {
			s.columns[table] = s.schema[table].ColumnNames()
		}
	}
}

// free marks unused pages, which hold removed rows.
func (s *reader) free() {
	trunk := binary.BigEndian.Uint32(s.page(1)[32:])
	for trunk != 0 && trunk <= s.count && !s.seen[trunk] {
		s.seen[trunk] = true
		page := s.page(trunk)
		for i := range min(int64(binary.BigEndian.Uint32(page[4:])), s.pageSize/4-2) {
			if n := binary.BigEndian.Uint32(page[8+4*i:]); n != 0 && n <= s.count {
				s.seen[n] = true
			}
		}
		trunk = binary.BigEndian.Uint32(page)
	}
}

// walk visits the rows of a table from its root.
func (s *reader) walk(n uint32, visit func(id int64, values []any) error) error {
	if n == 0 || n > s.count || s.seen[n] {
		return nil
	}
	kind, page, cells, right := s.btree(n)
	if kind != pageInterior {
		return s.leaf(n, visit)
	}
	s.seen[n] = true
	for _, at := range cells {
		if err := s.walk(binary.BigEndian.Uint32(page[at:]), visit); err != nil {
			return err
		}
	}
	return s.walk(right, visit)
}

// leaf visits the rows of a page.
func (s *reader) leaf(n uint32, visit func(id int64, values []any) error) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	kind, page, cells, _ := s.btree(n)
	if kind != pageLeaf {
		return nil
	}
	s.seen[n] = true
	for _, at := range cells {
		id, values, ok := s.row(page, at)
		if !ok {
			continue
		}
		if err := visit(id, values); err != nil {
			return err
		}
	}
	return nil
}

// numbered reports whether the first column of a table is the row id, which is NULL in the row.
func (s *reader) numbered(table string) bool {
	first := s.schema[table].Columns[0].Name
	return first == "id" || first == "num"
}

// guess returns the table of a row by the number and types of its columns, or "".
func (s *reader) guess(tables []string, values []any) string {
	for _, table := range tables {
		columns := s.schema[table].Columns
		if len(columns) < 2 || len(columns) != len(values) {
			continue
		}
		fits := !s.numbered(table) || values[0] == nil
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

// add yields a row that was read from a page. A row may be older than the last columns.
func (s *reader) add(table string, id int64, values []any) error {
	columns := s.columns[table]
	if len(values) == 0 || len(values) > len(columns) {
		return nil
	}
	if s.numbered(table) {
		values[0] = id
	}
	return s.give(table, columns[:len(values)], values)
}

// give yields the values of a row that lcm can have written.
func (s *reader) give(table string, columns []string, values []any) error {
	row := portable.Row{Table: table, Damaged: "it is from a damaged file"}
	for i, v := range values {
		known := slices.ContainsFunc(s.schema[table].Columns, func(c dbfile.ColumnDef) bool { return c.Name == columns[i] })
		if _, odd := v.(float64); known && v != nil && !odd {
			row.Columns, row.Values = append(row.Columns, columns[i]), append(row.Values, v)
		}
	}
	if !s.yield(portable.Item{Row: row}, nil) {
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
