package scale

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/sqldb/verify"
	"github.com/lossless-context/lcm/internal/record/store"
)

// pgxByHand appends messages as a program would that was written for it alone: one
// transaction locks the conversation, inserts the message and its place in the view, and
// updates the conversation. The rows are those that the engine has written before;
// reading them is not counted.
type pgxByHand struct {
	from  *pgx.Conn   // the engine's rows
	conns []*pgx.Conn // one for each session
	next  [][]handRow
	done  []int // rows of each session that were inserted
}

// handRow has the values of the rows that an append writes.
type handRow struct{ message, view, conversation []any }

// newPgxByHand makes the tables in a schema of its own, with a conversation for each
// session.
func newPgxByHand(ctx context.Context, engine, own string) (h *pgxByHand, err error) {
	db, err := postgres.Open(ctx, own, postgres.Options{DeferIndex: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	h = &pgxByHand{next: make([][]handRow, sessions), done: make([]int, sessions)}
	if h.from, err = pgx.Connect(ctx, engine); err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(own)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"jit", "enable_bitmapscan", "enable_seqscan"} { // as the engine does
		config.RuntimeParams[name] = "off"
	}
	for n := range sessions {
		if _, err := db.Open(ctx, store.NewConversation{Key: key(n)}); err != nil {
			return nil, err
		}
		c, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return nil, err
		}
		h.conns = append(h.conns, c)
	}
	return h, nil
}

func (h *pgxByHand) close(ctx context.Context) {
	for _, c := range append(h.conns, h.from) {
		_ = c.Close(ctx)
	}
}

const engineRows = `
	SELECT m.seq, m.stored, m.said, m.size, m.tokens, m.flags, m.role, m.native, m.format, m.sha256, m.chain, m.record, m.cuts, m.body,
	       v.pos, v.tokens, v.depth, v.role, v.stub, v.links,
	       c.created_at, coalesce(m.said, m.stored), m.seq, sum(m.tokens) OVER w, sum(m.size) OVER w, m.chain, count(v.pos) OVER w, sum(v.tokens) OVER w,
	       coalesce(max(v.pos) FILTER (WHERE v.role = 1) OVER w, 0)
	FROM conversations c JOIN messages m ON m.conversation = c.id JOIN view v ON v.conversation = c.id AND v.message = m.id
	WHERE c.key = $1 WINDOW w AS (ORDER BY m.seq) ORDER BY m.seq`

// follow reads the rows that the engine has written since the last call.
func (h *pgxByHand) follow(ctx context.Context, sessions int) error {
	for s := range sessions {
		rows, err := h.from.Query(ctx, engineRows+fmt.Sprintf(" OFFSET %d", h.done[s]), key(s))
		if err != nil {
			return err
		}
		h.next[s], err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (handRow, error) {
			v, err := r.Values()
			if err != nil {
				return handRow{}, err
			}
			return handRow{v[:14], v[14:20], v[20:]}, nil
		})
		if err != nil {
			return err
		}
		h.done[s] += len(h.next[s])
	}
	return nil
}

// append appends the next message of a session.
func (h *pgxByHand) append(ctx context.Context, session int) error {
	row := h.next[session][0]
	h.next[session] = h.next[session][1:]
	tx, err := h.conns[session].Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	var conversation, count, id int64
	if err := tx.QueryRow(ctx, "SELECT id, messages FROM conversations WHERE key = $1 FOR UPDATE", key(session)).Scan(&conversation, &count); err != nil {
		return err
	}
	err = tx.QueryRow(ctx, `
		INSERT INTO messages (conversation, seq, stored, said, size, tokens, flags, role, native, format, sha256, chain, record, cuts, body)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) RETURNING id`, append([]any{conversation}, row.message...)...).Scan(&id)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO view (conversation, message, pos, tokens, depth, role, stub, links) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		append([]any{conversation, id}, row.view...)...)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE conversations SET created_at = $2, updated_at = $3, messages = $4, tokens = $5, bytes = $6, head = $7, view_items = $8, view_tokens = $9, last_user = $10
		WHERE id = $1`, append([]any{conversation}, row.conversation...)...)
	if err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// sameRows fails unless both schemas have the same rows, apart from the numbers of
// messages, which concurrent sessions take in any order.
func (h *pgxByHand) sameRows(ctx context.Context, engine, own *postgres.DB) error {
	a, err := verify.Prove(ctx, engine.SQL())
	if err != nil {
		return err
	}
	b, err := verify.Prove(ctx, own.SQL())
	if err != nil {
		return err
	}
	if a.Digest != b.Digest || len(a.Faults)+len(b.Faults) > 0 {
		return fmt.Errorf("the rows that were written by hand are not those of the engine: %v %v", a.Faults, b.Faults)
	}
	return nil
}
