package rows

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/record"
)

// Summaries implements [store.Reader].
func (r *Records) Summaries(ctx context.Context, q store.SummaryQuery) iter.Seq2[store.Summary, error] {
	return stream(ctx, "store.summaries", r.DB, func(c sqldb.Conn, pass func(store.Summary) error) error {
		if q.IDs != nil {
			for ids := range slices.Chunk(q.IDs, summaryPage) {
				if err := summariesByID(c, ids, q.Sources, pass); err != nil {
					return err
				}
			}
			return nil
		}
		return c.Query(`SELECT`+SummaryColumns+` WHERE s.conversation = ? ORDER BY s.pos, s.depth DESC, s.num LIMIT ?`, func(s sqldb.Row) error {
			sum, err := ScanSummary(s)
			if err == nil {
				store.MarkSummaryDamaged(&sum.Summary)
				err = pass(sum.Summary)
			}
			return err
		}, int64(q.Conversation), cmp.Or(q.Limit, math.MaxInt64))
	})
}

// summaryPage is how many summaries one statement looks up.
const summaryPage = 256

// summariesByID passes the summaries with these ids, in this order. It takes one
// statement, and one more for their sources. Those of a single summary, which is described
// with them, are checked.
func summariesByID(c sqldb.Conn, ids []store.SummaryID, sources bool, pass func(store.Summary) error) error {
	found := make(map[store.SummaryID]*SummaryRow, len(ids))
	condensed := map[int64]*SummaryRow{}
	err := c.Query(`SELECT`+SummaryColumns+` WHERE s.id IN (SELECT t.value FROM json_each(?) t)`, func(s sqldb.Row) error {
		sum, err := ScanSummary(s)
		found[sum.ID] = &sum
		if sources && sum.Kind == record.Condensed {
			condensed[sum.Num] = &sum
		}
		return err
	}, sqldb.Texts(ids))
	if err == nil && len(condensed) > 0 {
		err = c.Query(`
			SELECT e.message, e.source, (SELECT id FROM summaries WHERE num = e.source), e.summary
			FROM edges e WHERE e.summary IN (SELECT j.value FROM json_each(?) j) ORDER BY e.summary, e.ord`, func(s sqldb.Row) error {
			sum := condensed[s.ColumnInt64(3)]
			sum.Sources = append(sum.Sources, scanEdge(s).ID)
			return nil
		}, slices.Collect(maps.Keys(condensed)))
	}
	if err == nil && len(ids) == 1 && found[ids[0]] != nil {
		err = found[ids[0]].CheckSources(c)
	}
	if err != nil {
		return err
	}
	return sqldb.Each(ids, func(id store.SummaryID) error {
		if found[id] == nil {
			return store.Missing(string(id))
		}
		store.MarkSummaryDamaged(&found[id].Summary)
		return pass(found[id].Summary)
	})
}

// Sources implements [store.Reader].
func (r *Records) Sources(ctx context.Context, id store.SummaryID) ([]store.ID, error) {
	return sqldb.Read(ctx, r.DB, func(c sqldb.Conn) ([]store.ID, error) {
		num, err := sqldb.Value[int64](c, `SELECT num FROM summaries WHERE id = ?`, string(id))
		if err == nil && num == 0 {
			err = store.Missing(string(id))
		}
		if err != nil {
			return nil, err
		}
		edges, err := Edges(c, num)
		var nodes []store.ID
		for _, e := range edges {
			nodes = append(nodes, e.ID)
		}
		return nodes, err
	})
}

// Derived implements [store.Reader].
func (r *Records) Derived(ctx context.Context, n store.ID) ([]store.SummaryID, error) {
	return sqldb.Read(ctx, r.DB, func(c sqldb.Conn) ([]store.SummaryID, error) {
		const derived = `SELECT s.id FROM edges e JOIN summaries s ON s.num = e.summary WHERE `
		if n.IsSummary() {
			return sqldb.Column[store.SummaryID](c, derived+`e.source = (SELECT num FROM summaries WHERE id = ?) ORDER BY s.num`, string(n.Summary))
		}
		return sqldb.Column[store.SummaryID](c, derived+`e.message = ? ORDER BY s.num`, int64(n.Message))
	})
}

// Edge is a source of a summary, with the number of the source if that is a
// summary itself.
type Edge struct {
	store.ID
	Num int64
}

// scanEdge reads a message, the number of a summary and the id of the summary.
func scanEdge(s sqldb.Row) Edge {
	return Edge{Num: s.ColumnInt64(1), ID: store.ID{Message: store.MessageID(s.ColumnInt64(0)), Summary: store.SummaryID(s.ColumnText(2))}}
}

// Edges returns the sources of a summary in order.
func Edges(c sqldb.Conn, num int64) ([]Edge, error) {
	return sqldb.List(c, `
		SELECT e.message, e.source, (SELECT id FROM summaries WHERE num = e.source) FROM edges e WHERE e.summary = ? ORDER BY e.ord`,
		scanEdge, num)
}

// Kept returns the items of the kept branches of a conversation, or of one
// branch if it is not 0.
func Kept(c sqldb.Conn, id store.ConversationID, branch int64) ([]Edge, error) {
	return sqldb.List(c, `
		SELECT bi.message, bi.summary, s.id FROM branches b JOIN branch_items bi ON bi.branch = b.id LEFT JOIN summaries s ON s.num = bi.summary
		WHERE b.conversation = ?1 AND (b.id = ?2 OR ?2 = 0) ORDER BY b.id, bi.pos`, scanEdge, int64(id), branch)
}

// MessageRef identifies a message in a walk.
type MessageRef struct {
	ID           store.MessageID
	Conversation store.ConversationID
	Pos          int64 // in views
	SHA256       []byte
	Flags        store.Flag
}

// FindMessage looks up a message for a walk.
func FindMessage(c sqldb.Conn, id store.MessageID) (MessageRef, error) {
	m := MessageRef{ID: id}
	found, err := c.One(`
		SELECT m.conversation, m.seq + c.base, m.sha256, m.flags FROM messages m JOIN conversations c ON c.id = m.conversation WHERE m.id = ?`,
		sqldb.Into(&m.Conversation, &m.Pos, &m.SHA256, &m.Flags), int64(id))
	if err == nil && !found {
		err = store.Missing(id.String())
	}
	return m, err
}

// WalkMessages visits the messages below items, in order. A summary that is a source of
// itself is an error.
func WalkMessages(c sqldb.Conn, items []ViewItem, visit func(MessageRef) error) error {
	return sqldb.Each(items, func(it ViewItem) error { return walkNode(c, Edge{it.ID, it.Num}, visit) })
}

func walkNode(c sqldb.Conn, e Edge, visit func(MessageRef) error) error {
	if !e.IsSummary() {
		m, err := FindMessage(c, e.Message)
		if err != nil {
			return err
		}
		return visit(m)
	}
	edges, err := Edges(c, e.Num)
	if err != nil {
		return err
	}
	return sqldb.Each(edges, func(s Edge) error {
		if s.Num >= e.Num { // sources are older
			return sqldb.Damaged("the sources of "+e.String(), errRewritten)
		}
		return walkNode(c, s, visit)
	})
}
