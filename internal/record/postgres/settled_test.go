package postgres

import (
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// Two look at once. The one that looked first answers last: it has not seen the second
// writer, and does not settle the numbers before that one has ended.
func TestALateLookSettlesNothing(t *testing.T) {
	var s settled
	one, both := map[string]bool{"1": true}, map[string]bool{"1": true, "2": true}
	s.note(nil, sqldb.Settled{Messages: 15}, both)
	s.note(nil, sqldb.Settled{Messages: 10}, one)
	if got := s.note(s.next, sqldb.Settled{Messages: 16}, map[string]bool{"2": true, "3": true}); got.Messages > 0 {
		t.Errorf("settled through %d while writer 2 may have message 15", got.Messages)
	}
	if got := s.note(s.next, sqldb.Settled{Messages: 17}, map[string]bool{"3": true}); got.Messages != 15 {
		t.Errorf("settled through %d, want 15", got.Messages)
	}
}
