package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/store"
)

// Orphans implements [store.Checker]. Verify reaches the rows of conversations;
// Orphans finds rows that belong to none.
func Orphans(ctx context.Context, f *dbfile.File) ([]store.Fault, error) {
	var faults []store.Fault
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		return c.Read(func() (err error) {
			faults, err = OrphanFaults(c)
			return err
		})
	})
	return faults, err
}

func OrphanFaults(c *dbfile.Conn) ([]store.Fault, error) {
	ids, err := OrphanIDs(c)
	if err != nil {
		return nil, err
	}
	var faults []store.Fault
	for _, id := range ids {
		var messages, summaries int64
		_, err := c.One(`SELECT (SELECT count(*) FROM messages WHERE conversation = ?1), (SELECT count(*) FROM summaries WHERE conversation = ?1)`,
			func(s *sqlite3.Stmt) error {
				messages, summaries = s.ColumnInt64(0), s.ColumnInt64(1)
				return nil
			}, id)
		if err != nil {
			return nil, err
		}
		faults = append(faults, store.Fault{Code: "conversation-missing", Node: fmt.Sprintf("conversation %d", id),
			Detail: fmt.Sprintf("%d messages and %d summaries belong to it, but it is not there", messages, summaries)})
	}
	dangling, err := danglingFaults(c)
	return append(faults, dangling...), err
}

// OrphanIDs lists the conversations that rows belong to and that are not there.
func OrphanIDs(c *dbfile.Conn) ([]int64, error) {
	ids, err := c.Int64s(record.EachConversation + `c.id IS NULL ORDER BY x.id`)
	return ids, err
}

// danglingFaults counts, by table, the rows that refer to missing rows and that
// no other code reports.
func danglingFaults(c *dbfile.Conn) ([]store.Fault, error) {
	counts := map[[2]string]int{}
	err := c.Query(`PRAGMA foreign_key_check`, func(s *sqlite3.Stmt) error {
		table, parent := s.ColumnText(0), s.ColumnText(2)
		reported := parent == "erasures" || parent == "conversations" && (table == "messages" || table == "summaries" || table == "view")
		if !reported {
			counts[[2]string{table, parent}]++
		}
		return nil
	})
	var faults []store.Fault
	for pair, n := range counts {
		faults = append(faults, store.Fault{Code: "dangling", Node: "table " + pair[0], Detail: fmt.Sprintf("%d of its references lead to rows of %s that are not there", n, pair[1])})
	}
	slices.SortFunc(faults, func(a, b store.Fault) int { return strings.Compare(a.Node+a.Detail, b.Node+b.Detail) })
	return faults, err
}
