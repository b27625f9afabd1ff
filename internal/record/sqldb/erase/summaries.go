package erase

import (
	"cmp"
	"errors"
	"slices"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/record"
)

// unwordedTokens is roughly the size of a summary without text in a view.
const unwordedTokens = 64

// findSummaries fills the table of summaries that may contain erased text:
// those above the messages, and those that a model wrote after one of them,
// because it saw the one before.
func (e *erasing) findSummaries() error {
	err := e.Exec(`INSERT INTO temp.unwording SELECT summary FROM edges WHERE message IN (SELECT id FROM temp.erasing) ON CONFLICT DO NOTHING`)
	if err != nil {
		return err
	}
	if err := e.findQuoting(); err != nil {
		return err
	}
	for {
		above, err := e.Update(`
			WITH RECURSIVE above (num) AS (
				SELECT num FROM temp.unwording
				UNION SELECT ed.summary FROM above JOIN edges ed ON ed.source = above.num
			)
			INSERT INTO temp.unwording SELECT num FROM above WHERE TRUE ON CONFLICT DO NOTHING`)
		if err != nil {
			return err
		}
		after, err := e.Update(lineage + `, first (conversation, pos) AS (
				SELECT s.conversation, min(s.pos) FROM temp.unwording u JOIN summaries s ON s.num = u.num GROUP BY s.conversation
			)
			INSERT INTO temp.unwording
			SELECT s.num FROM first f JOIN lineage l ON l.origin = f.conversation JOIN summaries s ON s.conversation = l.id
			WHERE s.pos >= f.pos AND s.model <> '' ON CONFLICT DO NOTHING`)
		if err != nil {
			return err
		}
		if above+after == 0 {
			return nil
		}
	}
}

// findQuoting adds the summaries of affected conversations that quote erased
// messages, in their text or an earlier one.
func (e *erasing) findQuoting() error {
	if e.order.Quotes == nil {
		return nil
	}
	return e.Query(`
		SELECT num, body FROM summaries WHERE conversation IN (SELECT id FROM temp.touched)
		UNION ALL SELECT r.summary, r.body FROM revisions r JOIN summaries s ON s.num = r.summary
		WHERE s.conversation IN (SELECT id FROM temp.touched)`, func(s sqldb.Row) error {
		if !e.order.Quotes(s.ColumnText(1)) {
			return nil
		}
		return e.Exec(`INSERT INTO temp.unwording VALUES (?) ON CONFLICT DO NOTHING`, s.ColumnInt64(0))
	})
}

// moveBranches moves the start of kept branches that begin after an erased
// message to the message before it.
func (e *erasing) moveBranches() error {
	type move struct{ branch, conversation, after int64 }
	moves, err := sqldb.List(e.Conn, `SELECT id, conversation, after FROM branches WHERE after IN (SELECT id FROM temp.erasing)`,
		func(s sqldb.Row) move { return move{s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2)} })
	if err != nil {
		return err
	}
	return sqldb.Each(moves, func(m move) error {
		after, err := e.before(store.ConversationID(m.conversation), store.MessageID(m.after))
		if err != nil {
			return err
		}
		return seal.Branches.Keep(e.Conn, "b.id = ?", func() error {
			return e.Exec(`UPDATE branches SET after = ? WHERE id = ?`, sqldb.Null(int64(after)), m.branch)
		}, m.branch)
	})
}

// before returns the last remaining message before an erased one on its path; 0
// if there is none.
func (e *erasing) before(conversation store.ConversationID, id store.MessageID) (store.MessageID, error) {
	r, err := rows.ReadConversation(e.Conn, conversation)
	if err != nil {
		return 0, err
	}
	w := &rows.Writer{Conn: e.Conn, Row: r, Now: e.now}
	for id != 0 {
		var start store.MessageID // where the branch of the message left the view
		items, err := rows.AllItems(e.Conn, conversation)
		if err != nil {
			return 0, err
		}
		way, err := messagesBelow(e.Conn, items)
		if err != nil {
			return 0, err
		}
		if !slices.Contains(way, id) { // the message is on a kept branch
			var branch int64
			if branch, start, err = w.BranchOf(id); errors.Is(err, store.ErrOffBranch) {
				return 0, nil
			}
			if err == nil {
				items, err = w.BranchItems(branch)
			}
			if err == nil {
				way, err = messagesBelow(e.Conn, items)
			}
			if err != nil {
				return 0, err
			}
		}
		before := append([]store.MessageID{start}, way[:max(0, slices.Index(way, id))]...)
		for _, m := range slices.Backward(before) {
			if goes, err := e.goes(m); err != nil || !goes {
				return m, err
			}
		}
		id = start
	}
	return 0, nil
}

func (e *erasing) goes(id store.MessageID) (bool, error) {
	return e.Has(`SELECT 1 FROM temp.erasing WHERE id = ?`, int64(id))
}

func messagesBelow(c sqldb.Conn, items []rows.ViewItem) ([]store.MessageID, error) {
	var ids []store.MessageID
	err := rows.WalkMessages(c, items, func(m rows.MessageRef) error {
		ids = append(ids, m.ID)
		return nil
	})
	return ids, err
}

// detach removes erased messages from views, branches and sources, and
// summaries that have no other source. The other summaries lose their text.
func (e *erasing) detach() error {
	err := e.ExecAll([]string{
		`DELETE FROM view WHERE conversation IN (SELECT id FROM temp.touched) AND message IN (SELECT id FROM temp.erasing)`,
		`DELETE FROM branch_items WHERE message IN (SELECT id FROM temp.erasing)`,
		`DELETE FROM edges WHERE message IN (SELECT id FROM temp.erasing)`,
		`DELETE FROM revisions WHERE summary IN (SELECT num FROM temp.unwording)`,
	})
	if err != nil {
		return err
	}
	if err := e.dropEmpty(); err != nil {
		return err
	}
	if err := e.Exec(`DELETE FROM branches WHERE NOT EXISTS (SELECT 1 FROM branch_items WHERE branch = branches.id)`); err != nil {
		return err
	}
	return e.unwordAll()
}

// unwordAll removes the text of the listed summaries, sources first.
func (e *erasing) unwordAll() error {
	left, err := sqldb.Column[int64](e.Conn, `SELECT s.num FROM temp.unwording u JOIN summaries s ON s.num = u.num ORDER BY s.depth, s.num`)
	if err != nil {
		return err
	}
	e.out.Unworded = len(left)
	return sqldb.Each(left, e.unword)
}

// dropEmpty removes summaries without sources, and then those above them that
// have none left.
func (e *erasing) dropEmpty() error {
	for {
		gone, err := e.Update(`
			INSERT INTO temp.vanishing
			SELECT u.num FROM temp.unwording u JOIN summaries s ON s.num = u.num WHERE NOT EXISTS (SELECT 1 FROM edges WHERE summary = u.num)`)
		if err != nil {
			return err
		}
		if gone == 0 {
			return nil
		}
		e.out.Summaries += int(gone)
		if err := e.ExecAll([]string{
			`DELETE FROM edges WHERE source IN (SELECT num FROM temp.vanishing)`,
			`DELETE FROM view WHERE conversation IN (SELECT id FROM temp.touched) AND summary IN (SELECT num FROM temp.vanishing)`,
			`DELETE FROM branch_items WHERE summary IN (SELECT num FROM temp.vanishing)`,
			`DELETE FROM summaries WHERE num IN (SELECT num FROM temp.vanishing)`,
			`DELETE FROM temp.vanishing`,
		}); err != nil {
			return err
		}
	}
}

// unword removes the text of a summary and derives its numbers again.
// Missing sources are damage, which an erasure does not repair.
func (e *erasing) unword(num int64) error {
	total, err := rows.Derive(e.Conn, num, nil)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	old, err := rows.NodePosition(e.Conn, rows.Edge{Num: num})
	if err != nil {
		return err
	}
	total.Pos = cmp.Or(total.Pos, old)
	if err := rows.UpdateDerived(e.Conn, num, total); err != nil {
		return err
	}
	err = e.Exec(`
		UPDATE summaries SET body = ?, tokens = ?, source_tokens = ?, level = ?, method = ?, model = '', tokens_in = 0, tokens_out = 0, revision = revision + 1, earlier = 0
		WHERE num = ?`, store.UnwordedBody, unwordedTokens, total.SourceTokens, string(record.Fallback), store.MethodErased, num)
	if err == nil {
		err = rows.SealSummary(e.Conn, num)
	}
	if err != nil {
		return err
	}
	err = e.Exec(`
		UPDATE view SET tokens = ?1, depth = ?2, pos = ?5
		WHERE conversation IN (SELECT id FROM temp.touched) AND pos = ?4 AND summary = ?3`,
		unwordedTokens, total.Depth, num, old, total.Pos)
	if err != nil || old == total.Pos {
		return err
	}
	// Its position is that of its first source, which has changed.
	return e.ExecAll([]string{`UPDATE edges SET ord = ? WHERE source = ?`, `UPDATE branch_items SET pos = ? WHERE summary = ?`}, total.Pos, num)
}
