package scale

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/lossless-context/lcm/internal/bench/harness"
	"github.com/lossless-context/lcm/internal/postgres"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// pgxByHand appends messages as a program would that was written for it alone: one
// transaction locks the conversation, inserts the message and its place in the view, and
// updates the conversation. The rows are those that the engine writes.
type pgxByHand struct {
	conns []*pgx.Conn
	ids   []int64 // of the conversations
}

func newPgxByHand(ctx context.Context, address string) (_ *pgxByHand, err error) {
	db, err := postgres.Open(ctx, address, postgres.Options{DeferIndex: true}) // makes the tables
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	h := &pgxByHand{}
	for n := range sessions {
		conv, err := db.Open(ctx, store.NewConversation{Key: key(n)})
		if err != nil {
			return nil, err
		}
		c, err := pgx.Connect(ctx, address)
		if err != nil {
			return nil, err
		}
		h.conns, h.ids = append(h.conns, c), append(h.ids, int64(conv.ID))
	}
	return h, nil
}

func (h *pgxByHand) close(ctx context.Context) {
	for _, c := range h.conns {
		_ = c.Close(ctx)
	}
}

func (h *pgxByHand) append(ctx context.Context, session, n int) error {
	m := harness.Message(n)
	record, err := wire.Encode(llms.FormatLCM, m)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(record)
	tokens := llms.CountMessage(llms.Estimate, m)
	tx, err := h.conns[session].Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	var count int64
	var head []byte
	if err := tx.QueryRow(ctx, "SELECT messages, head FROM conversations WHERE id = $1 FOR UPDATE", h.ids[session]).Scan(&count, &head); err != nil {
		return err
	}
	chain := store.Link([32]byte(head), store.NewMessage{Role: m.Role, Format: llms.FormatLCM, Size: int64(len(record)), SHA256: sum}, nil)
	var id int64
	err = tx.QueryRow(ctx, `INSERT INTO messages (conversation, seq, role, flags, stored, tokens, format, size, sha256, chain, record)
		VALUES ($1, $2, $3, 0, 0, $4, $5, $6, $7, $8, $9) RETURNING id`,
		h.ids[session], count+1, int(store.RoleCode(m.Role)), tokens, string(llms.FormatLCM), len(record), sum[:], chain[:], record).Scan(&id)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO view (conversation, pos, message, tokens, role, depth) VALUES ($1, $2, $3, $4, $5, 0)`,
		h.ids[session], count+1, id, tokens, int(store.RoleCode(m.Role)))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE conversations SET messages = messages + 1, tokens = tokens + $2, bytes = bytes + $3, head = $4,
		view_items = view_items + 1, view_tokens = view_tokens + $2, updated_at = updated_at + 1 WHERE id = $1`, h.ids[session], tokens, len(record), chain[:])
	if err != nil {
		return err
	}
	return tx.Commit(ctx)
}
