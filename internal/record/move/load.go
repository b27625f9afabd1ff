package move

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/record/archive"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// loader adds the rows of a source to a database. After the error of one row it can be
// given the next, if the database undoes a statement that failed.
type loader struct {
	sqldb.Conn
	schema map[string]dbfile.Object
}

// newLoader empties the tables that a new database has rows in.
func newLoader(c sqldb.Conn) (*loader, error) {
	schema, err := dbfile.Schema()
	if err == nil {
		err = c.ExecAll([]string{"DELETE FROM tombstone_salt", "DELETE FROM seals"})
	}
	return &loader{c, schema}, err
}

// add adds a row or the content of a payload.
func (l *loader) add(item archive.Item) error {
	if item.Content != nil {
		return l.payload(item)
	}
	return l.row(item.Row)
}

// row adds a row. Columns that it lacks and that must have a value get an empty one.
func (l *loader) row(r archive.Row) error {
	if !slices.ContainsFunc(tables, func(t table) bool { return t.name == r.Table }) {
		return fmt.Errorf("there is no table %q that can be loaded", r.Table)
	}
	if len(r.Columns) == 0 || len(r.Columns) != len(r.Values) {
		return fmt.Errorf("a row of %s has %d columns and %d values", r.Table, len(r.Columns), len(r.Values))
	}
	columns, values := slices.Clone(r.Columns), slices.Clone(r.Values)
	known := l.schema[r.Table].ColumnNames()
	for i, name := range columns {
		if !slices.Contains(known, name) {
			return fmt.Errorf("the table %s has no column %q", r.Table, name)
		}
		if n, is := values[i].(int64); is && slices.Contains(bools, r.Table+"."+name) {
			values[i] = n != 0
		}
		if record, is := values[i].([]byte); is && r.Table == "messages" && name == "record" {
			values[i] = sqldb.Pack(record)
		}
	}
	for _, col := range l.schema[r.Table].Columns {
		if col.NotNull && col.Value == "" && !slices.Contains(columns, col.Name) {
			columns, values = append(columns, col.Name), append(values, map[string]any{"TEXT": "", "BLOB": []byte{}, "INTEGER": 0}[col.Decl])
		}
	}
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ")
	err := l.Exec(`INSERT INTO `+r.Table+` (`+strings.Join(columns, ", ")+`) VALUES (`+marks+`)`, values...)
	if err != nil {
		return fmt.Errorf("a row of %s: %w", r.Table, err)
	}
	return nil
}

// payload adds the content of a payload. Content that does not have the hash that it is
// named by is kept, and the proof names it.
func (l *loader) payload(item archive.Item) error {
	num := int64(0)
	found, err := l.One(`SELECT num FROM payloads WHERE sha256 = ?`, sqldb.Into(&num), item.SHA256[:])
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("the payload %x… of %d bytes belongs to nothing", item.SHA256[:8], item.Size)
	}
	raw := make([]byte, rows.ChunkSize)
	for n := 0; ; n++ {
		got, err := io.ReadFull(item.Content, raw)
		if got > 0 {
			if err := rows.PutChunk(l.Conn, num, n, raw[:got]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
