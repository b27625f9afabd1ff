package record

import (
	"context"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/tombstone"
	"github.com/lossless-context/lcm/internal/store"
)

// Forgotten implements [store.Writer].
func (w *Writer) Forgotten(_ context.Context, f store.Fingerprint) (bool, error) { return w.forgot(f) }

func (w *Writer) forgot(f store.Fingerprint) (bool, error) {
	if w.refusal == nil {
		r, err := tombstone.Read(w.Conn, w.Key, w.Now)
		if err != nil {
			return false, err
		}
		if r.ClockAhead { // for good: messages from before that time may still arrive after it
			for _, key := range r.Keys {
				if err := w.Exec(`UPDATE forgotten AS f SET through = NULL WHERE f.key = ?1 AND `+tombstone.FutureUntil, key, w.Now); err != nil {
					return false, err
				}
			}
		}
		w.refusal = &r
	}
	refused, _, _, err := w.refusal.Refuses(w.Conn, &tombstone.Identity{Fingerprint: f})
	return refused, err
}

// dropRefused removes the payloads that were stored for a refused message.
func (w *Writer) dropRefused(m *store.NewMessage) error {
	return dbfile.Each(m.Payloads, func(p store.PayloadID) error {
		num, err := dbfile.Value[int64](w.Conn, `SELECT num FROM payloads WHERE id = ?`, string(p))
		if err == nil {
			_, _, err = DropUnusedPayload(w.Conn, num)
		}
		return err
	})
}
