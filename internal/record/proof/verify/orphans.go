package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Orphans implements [store.Checker]. Verify reaches the rows of conversations;
// Orphans finds rows that belong to none, and sets of rows that are not whole: the list of
// conversations and the tombstones.
func (k Checker) Orphans(ctx context.Context) ([]store.Fault, error) {
	return sqldb.Read(ctx, k.DB, OrphanFaults)
}

// OrphanFaults is Orphans inside a transaction.
func OrphanFaults(c sqldb.Conn) ([]store.Fault, error) {
	ids, err := OrphanIDs(c)
	if err != nil {
		return nil, err
	}
	var f Findings
	for _, id := range ids {
		var messages, summaries int64
		_, err := c.One(`SELECT (SELECT count(*) FROM messages WHERE conversation = ?1), (SELECT count(*) FROM summaries WHERE conversation = ?1)`,
			sqldb.Into(&messages, &summaries), id)
		if err != nil {
			return nil, err
		}
		f.Fault("conversation-missing", fmt.Sprintf("conversation %d", id), "%d messages and %d summaries belong to it, but it is not there", messages, summaries)
	}
	err = sqldb.Steps(func() error { return danglingFaults(c, &f) }, func() error { return f.Take(SetFaults(c)) })
	return f.List, err
}

// SetFaults checks the sets of rows that are sealed: the list of conversations and the
// tombstones. It is quick.
func SetFaults(c sqldb.Conn) ([]store.Fault, error) {
	var f Findings
	err := sqldb.Steps(func() error { return unrecorded(c, &f) }, func() error { return unlisted(c, &f) }, func() error { return f.Take(seal.Faults(c)) })
	return f.List, err
}

// unlisted checks the rows of conversations that are not shown, and so not verified.
func unlisted(c sqldb.Conn, f *Findings) error {
	broken, err := seal.Conversations.Broken(c, "NOT ("+rows.Listed+")")
	for _, key := range broken {
		f.Fault("session", fmt.Sprintf("conversation %d", key[0]), "%s", rowChanged)
	}
	return err
}

// UnrecordedErasures selects the erasures that have tombstones and no row of their own.
const UnrecordedErasures = `(SELECT erasure AS id FROM forgotten UNION SELECT erasure FROM tombstones EXCEPT SELECT id FROM erasures)`

// unrecorded finds erasures of which only tombstones are left.
func unrecorded(c sqldb.Conn, f *Findings) error {
	return c.Query(`SELECT u.id FROM `+UnrecordedErasures+` u ORDER BY u.id`, func(s sqldb.Row) error {
		f.Fault("erasure-missing", fmt.Sprintf("tombstone %d", s.ColumnInt64(0)), "it is not noted any more when and why something was erased")
		return nil
	})
}

// OrphanIDs lists the conversations that rows belong to and that are not there.
func OrphanIDs(c sqldb.Conn) ([]int64, error) {
	return sqldb.Column[int64](c, eachConversation)
}

// danglingFaults counts, by table, the rows that refer to missing rows and that
// no other code reports.
func danglingFaults(c sqldb.Conn, f *Findings) error {
	counts := map[string]int{}
	err := c.Dangling(func(table, parent string) error {
		reported := parent == "erasures" || parent == "conversations" && (table == "messages" || table == "summaries" || table == "view")
		if !reported {
			counts[table+" "+parent]++
		}
		return nil
	})
	for _, pair := range slices.Sorted(maps.Keys(counts)) {
		table, parent, _ := strings.Cut(pair, " ")
		f.Fault("dangling", "table "+table, "%d of its references lead to rows of %s that are not there", counts[pair], parent)
	}
	return err
}

// eachConversation finds the conversations that messages, summaries and views have and
// that are not there, by the first index entry of each. Reading every row would take too
// long.
const eachConversation = `
	WITH RECURSIVE m (id) AS (
		SELECT min(conversation) FROM messages
		UNION ALL SELECT (SELECT min(conversation) FROM messages WHERE conversation > m.id) FROM m WHERE m.id IS NOT NULL
	), s (id) AS (
		SELECT min(conversation) FROM summaries
		UNION ALL SELECT (SELECT min(conversation) FROM summaries WHERE conversation > s.id) FROM s WHERE s.id IS NOT NULL
	), v (id) AS (
		SELECT min(conversation) FROM view
		UNION ALL SELECT (SELECT min(conversation) FROM view WHERE conversation > v.id) FROM v WHERE v.id IS NOT NULL
	), x (id) AS (SELECT id FROM m UNION SELECT id FROM s UNION SELECT id FROM v)
	SELECT x.id FROM x LEFT JOIN conversations c ON c.id = x.id WHERE x.id IS NOT NULL AND c.id IS NULL ORDER BY x.id`
