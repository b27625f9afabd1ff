package check

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/store"
)

// erasedMessage verifies that nothing is left of an erased message. Its link is
// trusted, because its content is gone. The next link depends on it, so that an
// erasure cannot be moved, added or undone without breaking the chain.
func (v *verifier) erasedMessage(s *sqlite3.Stmt, id store.MessageID, flags store.Flag) error {
	copy(v.head[:], s.ColumnRawBlob(10))
	if flags&store.FlagErased == 0 {
		v.fault("erased-mark", v.conversationName(), "it is marked as erased, but its messages are there")
		return nil
	}
	left := s.ColumnInt64(8) != 0 || s.ColumnInt64(5) != 0 || s.ColumnType(13) != sqlite3.NULL || s.ColumnType(12) != sqlite3.NULL ||
		s.ColumnType(6) != sqlite3.NULL || s.ColumnType(4) != sqlite3.NULL
	for _, column := range []int{9, 11} {
		left = left || len(s.ColumnRawBlob(column)) > 0
	}
	if left {
		v.fault("erased", id, "it was erased, but something of it is left")
	}
	return nil
}
