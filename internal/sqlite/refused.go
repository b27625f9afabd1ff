package sqlite

import (
	"context"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/store"
)

// Forgotten implements [store.Writer].
func (w *writer) Forgotten(_ context.Context, f store.Fingerprint) (bool, error) { return w.forgot(f) }

func (w *writer) forgot(f store.Fingerprint) (bool, error) {
	if w.refusal == nil {
		r, err := ReadRefusal(w.Conn, w.Key, w.now)
		if err != nil {
			return false, err
		}
		if r.ahead { // for good: the time comes, and messages from before it may still arrive then
			for _, key := range r.keys {
				if err := w.Exec(`UPDATE forgotten AS f SET through = NULL WHERE f.key = ?1 AND `+clockAhead, key, w.now); err != nil {
					return false, err
				}
			}
		}
		w.refusal = &r
	}
	refused, _, _, err := w.refusal.refuses(w.Conn, &named{Fingerprint: f})
	return refused, err
}

// dropRefused removes the payloads that a caller stored for a message before it
// was refused.
func (w *writer) dropRefused(m *store.NewMessage) error {
	for _, p := range m.Payloads {
		var num int64
		found, err := w.One(`SELECT num FROM payloads WHERE id = ?`, func(s *sqlite3.Stmt) error { num = s.ColumnInt64(0); return nil }, string(p))
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if _, _, err := DropUnusedPayload(w.Conn, num); err != nil {
			return err
		}
	}
	return nil
}
