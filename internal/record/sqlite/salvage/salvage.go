// Package salvage reads the rows of a database file that SQLite refuses to open,
// page by page, into a new database.
package salvage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs/readervfs"

	"github.com/lossless-context/lcm/internal/record/sqlite/archive"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// File makes a new database beside to from the readable rows of a damaged one,
// page by page: SQLite refuses truncated files and everything behind a damaged
// page. Derived rows are made again, and the proof lists missing messages. The
// damaged file is only read.
func File(ctx context.Context, from, to string) (*archive.Scratch, error) {
	from = dbfile.Resolve(from)
	pages, err := openPages(from)
	if err != nil {
		return nil, dbfile.Explain(from, err)
	}
	defer pages.Close()
	want, err := dbfile.Schema()
	if err != nil {
		return nil, err
	}
	return archive.Build(ctx, to, dbfile.Version, func(l *archive.Loader) error {
		l.KeepDamaged = true
		s := &reader{pageFile: pages, ctx: ctx, loader: l, schema: want, seen: make([]bool, pages.count+1)}
		if err := s.tables(); err != nil {
			return err
		}
		return s.keyed()
	})
}

// reader reads rows from the pages of a file.
type reader struct {
	*pageFile
	ctx    context.Context
	loader *archive.Loader
	schema map[string]dbfile.Object
	seen   []bool // pages that were read, or that are free
}

// numbered are the tables whose first column is the row id, and plain the
// others with row ids.
var (
	numbered = []string{"projects", "conversations", "messages", "summaries", "branches", "payloads", "erasures"}
	plain    = []string{"chunks", "tombstone_salt", "seals"}
)

// tables reads the tables with row ids: first the pages that the schema leads
// to, then lost pages, by the shape of their rows.
func (s *reader) tables() error {
	s.free()
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
	for _, table := range slices.Concat(numbered, plain) {
		err := s.walk(roots[table], func(id int64, values []any) error { return s.add(table, id, values) })
		if err != nil {
			return err
		}
	}
	for n := uint32(2); n <= s.count; n++ {
		if s.seen[n] {
			continue
		}
		if err := s.leaf(n, func(id int64, values []any) error { return s.add(s.guess(values), id, values) }); err != nil {
			return err
		}
	}
	return nil
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

// guess returns the table of a row by the number and types of its columns, or
// "".
func (s *reader) guess(values []any) string {
	for _, table := range slices.Concat(numbered, plain) {
		columns := s.schema[table].Columns
		if table == "tombstone_salt" || len(columns) != len(values) {
			continue
		}
		fits := slices.Contains(plain, table) || values[0] == nil
		for i, col := range columns {
			if i == 0 && values[0] == nil {
				continue
			}
			fits = fits && (values[i] != nil || !col.NotNull) && typed(col.Decl, values[i])
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
		return strings.HasPrefix(decl, "INTEGER")
	case string:
		return strings.HasPrefix(decl, "TEXT")
	case []byte:
		return strings.HasPrefix(decl, "BLOB")
	}
	return false
}

// add gives a row to the loader. A row that exists was read from a page of its
// table.
func (s *reader) add(table string, id int64, values []any) error {
	if table == "" {
		return nil
	}
	if table == "chunks" {
		if len(values) != 4 {
			return nil
		}
		payload, _ := values[0].(int64)
		n, _ := values[1].(int64)
		compressed, _ := values[2].(int64)
		data, _ := values[3].([]byte)
		return s.harmless(s.loader.Chunk(payload, n, compressed != 0, data))
	}
	columns := s.schema[table].Columns
	if len(values) > len(columns) {
		return nil
	}
	if slices.Contains(numbered, table) {
		values[0] = id
	}
	var names []string
	var kept []any
	for i, v := range values { // a row may be older than the last columns
		if _, odd := v.(float64); v != nil && !odd {
			names, kept = append(names, columns[i].Name), append(kept, v)
		}
	}
	return s.harmless(s.loader.Row(table, names, kept))
}

// harmless ignores the error of a single row, but not a full disk.
func (s *reader) harmless(err error) error {
	if dbfile.Full(err) || s.ctx.Err() != nil {
		return errors.Join(err, s.ctx.Err())
	}
	return nil
}

var salvages atomic.Int64

// keyed reads the tables without row ids with SQLite, as far as possible. All
// but tombstones and state can be derived.
func (s *reader) keyed() error {
	name := fmt.Sprintf("lcm-salvage-%d", salvages.Add(1))
	readervfs.Create(name, s.pageFile)
	defer readervfs.Delete(name)
	raw, err := sqlite3.OpenFlags("file:"+name+"?vfs=reader", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		return s.harmless(err)
	}
	c := dbfile.NewConn(raw)
	defer c.Close()
	for _, d := range archive.Dumped {
		if slices.Contains(numbered, d.Table) || slices.Contains(plain, d.Table) || s.schema[d.Table].Kind == "" {
			continue
		}
		// The condition selects state that outlives its process.
		err := archive.DumpTable(c, d.Table, d.All, "", archive.Dump{Row: func(table string, columns []string, values []any, _ string) error {
			return s.harmless(s.loader.Row(table, columns, values))
		}})
		if err := s.harmless(err); err != nil {
			return err
		}
	}
	return nil
}
