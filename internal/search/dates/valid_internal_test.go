package dates

import "testing"

// There is no 32nd, and no month before January or after December.
func TestValid(t *testing.T) {
	for d, want := range map[date]bool{
		{year: 2026, month: 1, day: 31}: true, {year: 2026, month: 12, day: 1}: true, {year: 2026, month: 1, day: 32}: false,
		{year: 2026, month: 13, day: 1}: false, {year: 2026, month: 0, day: 1}: false,
	} {
		if got := valid(d) != nil; got != want {
			t.Errorf("%+v: %t", d, got)
		}
	}
}
