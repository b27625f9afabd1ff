package lcm

import (
	"fmt"
	"testing"
)

func TestBudgetsForgetOldSessions(t *testing.T) {
	b := budgets{usual: 128_000}
	use := func(key string, named, want int) {
		t.Helper()
		if got, err := b.use(key, named); err != nil || got != want {
			t.Errorf("%s with %d: %d, want %d (%v)", key, named, got, want, err)
		}
	}
	use("first", 0, 128_000)
	use("first", 8_000, 8_000)
	use("used", 9_000, 9_000)
	for i := range 3 * maxBudgets {
		use(fmt.Sprint("other ", i), 10_000, 10_000)
		use("used", 0, 9_000)
	}
	use("first", 0, 128_000)
	if n := len(b.last) + len(b.old); n > 2*maxBudgets {
		t.Errorf("%d budgets are remembered", n)
	}
	if _, err := b.use("first", MinBudget-1); err == nil {
		t.Error("a budget that is too small is taken")
	}
}
