package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/store"
)

// Orphans implements [store.Checker]. Verify reaches the rows of conversations;
// Orphans finds rows that belong to none.
func (k Checker) Orphans(ctx context.Context) ([]store.Fault, error) {
	return dbfile.Read(ctx, k.File, OrphanFaults)
}

// OrphanFaults is Orphans inside a transaction.
func OrphanFaults(c *dbfile.Conn) ([]store.Fault, error) {
	ids, err := OrphanIDs(c)
	if err != nil {
		return nil, err
	}
	var f faults
	for _, id := range ids {
		var messages, summaries int64
		_, err := c.One(`SELECT (SELECT count(*) FROM messages WHERE conversation = ?1), (SELECT count(*) FROM summaries WHERE conversation = ?1)`,
			dbfile.Into(&messages, &summaries), id)
		if err != nil {
			return nil, err
		}
		f.fault("conversation-missing", fmt.Sprintf("conversation %d", id), "%d messages and %d summaries belong to it, but it is not there", messages, summaries)
	}
	err = danglingFaults(c, &f)
	return f.list, err
}

// OrphanIDs lists the conversations that rows belong to and that are not there.
func OrphanIDs(c *dbfile.Conn) ([]int64, error) {
	return dbfile.Column[int64](c, record.EachConversation+`c.id IS NULL ORDER BY x.id`)
}

// danglingFaults counts, by table, the rows that refer to missing rows and that
// no other code reports.
func danglingFaults(c *dbfile.Conn, f *faults) error {
	counts := map[string]int{}
	err := c.Query(`PRAGMA foreign_key_check`, func(s *sqlite3.Stmt) error {
		table, parent := s.ColumnText(0), s.ColumnText(2)
		reported := parent == "erasures" || parent == "conversations" && (table == "messages" || table == "summaries" || table == "view")
		if !reported {
			counts[table+" "+parent]++
		}
		return nil
	})
	for _, pair := range slices.Sorted(maps.Keys(counts)) {
		table, parent, _ := strings.Cut(pair, " ")
		f.fault("dangling", "table "+table, "%d of its references lead to rows of %s that are not there", counts[pair], parent)
	}
	return err
}
