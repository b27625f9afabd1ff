package sqlite

import "context"

// The statements that a fold alone needs.
const (
	foldRun = `
		SELECT v.pos, v.message, v.summary, v.tokens, ` + itemSummary + `, m.tokens, ifnull(m.said, m.stored)
		FROM view v LEFT JOIN messages m ON m.id = v.message
		WHERE v.conversation = ? AND v.pos BETWEEN ? AND ? ORDER BY v.pos`
	foldFiles = `
		SELECT mp.message, p.id FROM message_payloads mp JOIN payloads p ON p.num = mp.payload
		WHERE mp.message BETWEEN ? AND ? ORDER BY mp.message, p.num`
	foldTaken  = `SELECT 1 FROM summaries WHERE id = ?`
	foldInsert = `
		INSERT INTO summaries (id, conversation, kind, depth, pos, body, tokens, source_tokens, descendants, messages, message_tokens,
		                       earliest, latest, files, level, method, model, tokens_in, tokens_out, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	foldEdges = `
		INSERT INTO edges (summary, ord, message, source)
		SELECT ?, pos, message, summary FROM view WHERE conversation = ? AND pos BETWEEN ? AND ?`
	foldDelete = `DELETE FROM view WHERE conversation = ? AND pos BETWEEN ? AND ?`
	foldFlush  = `UPDATE conversations SET summaries = ?, view_items = ?, view_tokens = ?, last_user = ? WHERE id = ?`
)

// ReadyFold prepares the statements of a fold, so that the first one in a
// process need not: whoever is about to fold has it done while it reads. What
// fails here fails there again, and is told there.
func (db *DB) ReadyFold(ctx context.Context) {
	if db.ready.Swap(true) {
		return
	}
	_ = db.withWriter(ctx, func(c *conn) error {
		for _, sql := range []string{foldRun, foldFiles, foldTaken, foldInsert, foldEdges, foldDelete, foldFlush} {
			if _, err := c.stmt(sql); err != nil {
				return err
			}
		}
		return nil
	})
}
