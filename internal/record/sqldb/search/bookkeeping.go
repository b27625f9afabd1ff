package search

import (
	"context"
	"sync"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
)

// bookkeeping is the set of messages that hosts wrote for themselves:
// reminders, environment blocks, hook results, titles. A search checks every
// candidate against it, so it is a bit set in memory, extended before each
// search.
type bookkeeping struct {
	mu   sync.Mutex
	bits []uint64
	some bool  // a bit is set
	last int64 // no message up to this id is missing
}

// snapshot returns a function that reports whether a message is bookkeeping, or
// nil if none is. The function does not change while others search.
func (b *bookkeeping) snapshot(ctx context.Context, f sqldb.DB) (func(id int64) bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	bits := b.bits
	err := f.Snapshot(ctx, func(c sqldb.Conn, settled sqldb.Settled) error {
		last := b.last
		if _, err := c.One(`SELECT coalesce(max(id), 0) FROM messages`, sqldb.Into(&last)); err != nil || last == b.last {
			return err
		}
		// Searches under way still read the old slice.
		bits = make([]uint64, last/64+1)
		copy(bits, b.bits)
		err := c.Query(`SELECT id FROM messages WHERE `+rows.IsBookkeeping+` AND id > ?`,
			func(s sqldb.Row) error {
				id := s.ColumnInt64(0)
				bits[id/64] |= 1 << (id % 64)
				b.some = true
				return nil
			}, b.last)
		if err == nil {
			b.bits, b.last = bits, max(b.last, min(last, settled.Messages))
		}
		return err
	})
	if err != nil || !b.some {
		return nil, err
	}
	return func(id int64) bool { return id/64 < int64(len(bits)) && bits[id/64]&(1<<(id%64)) != 0 }, nil
}
