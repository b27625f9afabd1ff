package stats

import (
	"context"
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/internal/record/sqldb"
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
func Tables(ctx context.Context, db sqldb.DB) ([]Table, error) {
	return sqldb.Read(ctx, db, func(c sqldb.Conn) ([]Table, error) {
		type column struct{ table, name string }
		columns, err := sqldb.List(c, c.Dialect().Columns,
			func(s sqldb.Row) column { return column{s.ColumnText(0), s.ColumnText(1)} })
		if err != nil || len(columns) == 0 {
			return nil, err
		}
		sizes := map[string]string{}
		for _, col := range columns {
			size := "0"
			if col.name != "" {
				size = fmt.Sprintf(`coalesce(octet_length("%s"), 0)`, col.name)
			}
			sizes[col.table] += "+" + size
		}
		var union []string
		for table, size := range sizes {
			union = append(union, fmt.Sprintf(`SELECT '%s', count(*), coalesce(sum(0%s), 0) FROM "%s"`, table, size, table))
		}
		return sqldb.List(c, strings.Join(union, " UNION ALL ")+" ORDER BY 3 DESC, 2 DESC, 1", func(s sqldb.Row) Table {
			return Table{s.ColumnText(0), s.ColumnInt64(1), s.ColumnInt64(2)}
		})
	})
}
