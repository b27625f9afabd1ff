package stats

import (
	"context"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
)

// Table is the size of a table.
type Table struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
	// Bytes is the size of its texts and blobs, without numbers, indexes and free
	// space in pages.
	Bytes int64 `json:"bytes"`
}

// Tables measures every table, the largest first. It reads the rows of all tables,
// but not their long texts.
func Tables(ctx context.Context, f *dbfile.File) ([]Table, error) {
	return dbfile.Read(ctx, f, func(c *dbfile.Conn) ([]Table, error) {
		type column struct{ table, name string }
		columns, err := dbfile.List(c, `
			SELECT s.name, iif(i.type IN ('TEXT', 'BLOB'), i.name, '') FROM sqlite_schema s JOIN pragma_table_info(s.name) i
			WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY s.name`,
			func(s *sqlite3.Stmt) column { return column{s.ColumnText(0), s.ColumnText(1)} })
		if err != nil || len(columns) == 0 {
			return nil, err
		}
		sizes := map[string]string{}
		for _, col := range columns {
			size := "0"
			if col.name != "" {
				size = fmt.Sprintf(`ifnull(octet_length("%s"), 0)`, col.name)
			}
			sizes[col.table] += "+" + size
		}
		var union []string
		for table, size := range sizes {
			union = append(union, fmt.Sprintf(`SELECT '%s', count(*), ifnull(sum(0%s), 0) FROM "%s"`, table, size, table))
		}
		return dbfile.List(c, strings.Join(union, " UNION ALL ")+" ORDER BY 3 DESC, 2 DESC, 1", func(s *sqlite3.Stmt) Table {
			return Table{s.ColumnText(0), s.ColumnInt64(1), s.ColumnInt64(2)}
		})
	})
}
