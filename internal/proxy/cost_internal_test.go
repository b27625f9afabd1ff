package proxy

import "testing"

// A fold to less than half of a request costs once. The requests after it continue it,
// and a short one beside the history does not change that.
func TestObservedCost(t *testing.T) {
	c := costs{billed: true}
	for i, r := range []struct {
		full, sent int
		fold       bool
		want       float64
	}{
		{100_000, 100_000, false, 125_000},
		{101_000, 40_000, true, 50_000},
		{102_000, 41_000, false, 4_000 + 1_250},
		{1_000, 1_000, false, 1_000},
		{103_000, 42_000, false, 4_100 + 1_250},
	} {
		cost, plain := c.add(Composition{FullTokens: r.full, Tokens: r.sent, Fold: r.fold, Window: 200_000}, true)
		if cost != r.want {
			t.Errorf("request %d costs %.0f, want %.0f (without lcm %.0f)", i, cost, r.want, plain)
		}
	}
}

// A provider that does not charge for writes to its cache has no such price.
func TestCostWithoutWrites(t *testing.T) {
	var c costs
	u := apiUsage{Input: 100_000}
	if cost, plain := c.add(Composition{FullTokens: 100_000, Tokens: 100_000, Window: 200_000, Usage: u}, false); cost != 100_000 || plain != 100_000 {
		t.Errorf("the first request costs %.0f, without lcm %.0f", cost, plain)
	}
	u = apiUsage{Input: 1000, CacheRead: 100_000}
	if cost, plain := c.add(Composition{FullTokens: 101_000, Tokens: 101_000, Window: 200_000, Usage: u}, false); cost != 11_000 || plain != 11_000 {
		t.Errorf("the second request costs %.0f, without lcm %.0f", cost, plain)
	}
}
