package check

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/store"
)

// erasedMessage verifies that nothing is left of an erased message. Its link is
// trusted, because its content is gone. The next link depends on it, so that an
// erasure cannot be moved, added or undone without breaking the chain.
func (v *verifier) erasedMessage(s *sqlite3.Stmt, id store.MessageID, m record.Linked) error {
	v.head = m.Chain
	if m.Flags&store.FlagErased == 0 {
		v.fault("erased-mark", v.name(), "it is marked as erased, but its messages are there")
		return nil
	}
	left := m.Size != 0 || s.ColumnInt64(2) != 0 || s.ColumnType(4) != sqlite3.NULL || m.StoredBody != nil || s.ColumnType(8) != sqlite3.NULL || !m.Said.IsZero() ||
		len(s.ColumnRawBlob(3)) > 0 || len(s.ColumnRawBlob(11)) > 0
	if left {
		v.fault("erased", id.String(), "it was erased, but something of it is left")
	}
	return nil
}
