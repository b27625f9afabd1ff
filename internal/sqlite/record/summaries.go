package record

import (
	"context"
	"iter"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/store"
)

// Summaries implements [store.Reader].
func Summaries(ctx context.Context, f *dbfile.File, q store.SummaryQuery) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		stopped := false
		err := f.Reader(ctx, func(c *dbfile.Conn) error {
			row := func(s *sqlite3.Stmt) error {
				_, sum, err := ScanSummary(s)
				if err != nil {
					return err
				}
				if !yield(sum, nil) {
					stopped = true
					return dbfile.ErrStop
				}
				return nil
			}
			if q.IDs != nil {
				return querySummaries(c, q.IDs, row)
			}
			limit := q.Limit
			if limit == 0 {
				limit = -1
			}
			return c.Query(`SELECT`+SummaryColumns+` WHERE s.conversation = ? ORDER BY s.pos, s.depth DESC, s.num LIMIT ?`,
				row, int64(q.Conversation), limit)
		})
		if err != nil && !stopped {
			yield(store.Summary{}, err)
		}
	}
}

func querySummaries(c *dbfile.Conn, ids []store.SummaryID, row func(*sqlite3.Stmt) error) error {
	return c.Read(func() error {
		for _, id := range ids {
			found, err := c.One(`SELECT`+SummaryColumns+` WHERE s.id = ?`, row, string(id))
			if err != nil {
				return err
			}
			if !found {
				return store.Missing(string(id))
			}
		}
		return nil
	})
}

// Sources implements [store.Reader].
func Sources(ctx context.Context, f *dbfile.File, id store.SummaryID) ([]store.Node, error) {
	var nodes []store.Node
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		err := c.Query(`
			SELECT e.message, s.id FROM edges e LEFT JOIN summaries s ON s.num = e.source
			WHERE e.summary = (SELECT num FROM summaries WHERE id = ?) ORDER BY e.ord`, func(s *sqlite3.Stmt) error {
			nodes = append(nodes, store.Node{Message: store.MessageID(s.ColumnInt64(0)), Summary: store.SummaryID(s.ColumnText(1))})
			return nil
		}, string(id))
		if err == nil && nodes == nil { // every summary has sources
			_, _, err = SummaryByID(c, id)
		}
		return err
	})
	return nodes, err
}

// Derived implements [store.Reader].
func Derived(ctx context.Context, f *dbfile.File, n store.Node) ([]store.SummaryID, error) {
	var ids []store.SummaryID
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		row := func(s *sqlite3.Stmt) error {
			ids = append(ids, store.SummaryID(s.ColumnText(0)))
			return nil
		}
		if n.IsSummary() {
			return c.Query(`
				SELECT s.id FROM edges e JOIN summaries s ON s.num = e.summary
				WHERE e.source = (SELECT num FROM summaries WHERE id = ?) ORDER BY s.num`, row, string(n.Summary))
		}
		return c.Query(`SELECT s.id FROM edges e JOIN summaries s ON s.num = e.summary WHERE e.message = ? ORDER BY s.num`,
			row, int64(n.Message))
	})
	return ids, err
}

// Edge is a source of a summary, with the number of the source if that is a
// summary itself.
type Edge struct {
	store.Node
	Num int64
}

// Edges returns the sources of a summary in order.
func Edges(c *dbfile.Conn, num int64) ([]Edge, error) {
	var all []Edge
	err := c.Query(`SELECT e.message, e.source, s.id FROM edges e LEFT JOIN summaries s ON s.num = e.source WHERE e.summary = ? ORDER BY e.ord`,
		func(s *sqlite3.Stmt) error {
			all = append(all, Edge{Num: s.ColumnInt64(1), Node: store.Node{
				Message: store.MessageID(s.ColumnInt64(0)), Summary: store.SummaryID(s.ColumnText(2)),
			}})
			return nil
		}, num)
	return all, err
}

// MessageRef identifies a message in a walk.
type MessageRef struct {
	ID           store.MessageID
	Conversation store.ConversationID
	SHA256       []byte
}

// WalkMessages visits the messages below items, in order. It trusts the edges
// to have no cycles; Verify does not.
func WalkMessages(c *dbfile.Conn, items []ViewItem, visit func(MessageRef) error) error {
	for _, it := range items {
		if err := walkNode(c, it.Node, it.Num, visit); err != nil {
			return err
		}
	}
	return nil
}

func walkNode(c *dbfile.Conn, n store.Node, num int64, visit func(MessageRef) error) error {
	if !n.IsSummary() {
		ref := MessageRef{ID: n.Message}
		found, err := c.One(`SELECT conversation, sha256 FROM messages WHERE id = ?`, func(s *sqlite3.Stmt) error {
			ref.Conversation, ref.SHA256 = store.ConversationID(s.ColumnInt64(0)), s.ColumnBlob(1, nil)
			return nil
		}, int64(n.Message))
		if err != nil {
			return err
		}
		if !found {
			return store.Missing(n.String())
		}
		return visit(ref)
	}
	edges, err := Edges(c, num)
	if err != nil {
		return err
	}
	for _, e := range edges {
		if err := walkNode(c, e.Node, e.Num, visit); err != nil {
			return err
		}
	}
	return nil
}
