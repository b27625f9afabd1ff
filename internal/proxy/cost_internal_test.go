package proxy

import (
	"net/http"
	"testing"
)

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

// A history that shrinks to more than half of itself goes on: what is left of it is in the cache.
func TestCostOfAHistoryThatShrinks(t *testing.T) {
	var g growing
	for i, r := range []struct {
		tokens int
		want   float64
	}{{100_000, 100_000}, {60_000, 6_000}, {29_000, 29_000}, {61_000, 6_000 + 1_000}} {
		if cost := g.add(r.tokens, false, 1); cost != r.want {
			t.Errorf("request %d costs %.0f, want %.0f", i, cost, r.want)
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
	u = apiUsage{CacheRead: 101_000, CacheWrite: 1000} // from the first one that is charged
	if cost, plain := c.add(Composition{FullTokens: 102_000, Tokens: 102_000, Window: 200_000, Usage: u}, false); cost != 11_350 || plain != 11_350 {
		t.Errorf("a request with a write costs %.0f, without lcm %.0f", cost, plain)
	}
}

// Without the proxy the history goes on where the proxy has made the host compact. Where
// the user has typed /compact, the host pays for the summary and begins anew.
func TestCostAfterCheckpoint(t *testing.T) {
	c := costs{billed: true}
	for i, r := range []struct {
		made Composition
		want float64
	}{
		{Composition{FullTokens: 700_000}, 875_000},
		{Composition{FullTokens: 701_000, Status: 400, Note: madeToCompact}, 0},
		{Composition{FullTokens: 701_000, Status: 200, Checkpoint: true}, 0},
		{Composition{FullTokens: 50_000}, 70_000},
		{Composition{FullTokens: 60_000}, 70_000 + 12_500},
		{Composition{FullTokens: 61_000, Status: 200, Checkpoint: true}, 71_000 + 1_250},
		{Composition{FullTokens: 40_000}, 50_000},
		{Composition{FullTokens: 50_000}, 4_000 + 12_500},
	} {
		r.made.Window = 1_000_000
		if _, plain := c.add(r.made, false); plain != r.want {
			t.Errorf("request %d costs %.0f without lcm, want %.0f", i, plain, r.want)
		}
	}
}

// The prices of a run without a changed request, of a provider without a cache, and of
// requests without an answer.
func TestTotalCost(t *testing.T) {
	request := func(tokens, dropped int, u apiUsage) Composition {
		return Composition{FullTokens: tokens, Tokens: tokens, Window: 200_000, Dropped: dropped, Usage: u, Status: http.StatusOK}
	}
	for name, c := range map[string]struct {
		made        []Composition
		cost, plain float64
	}{
		"nothing changed": {[]Composition{
			request(50_000, 0, apiUsage{Input: 60_000}), request(51_000, 0, apiUsage{Input: 61_000}),
		}, 121_000, 121_000},
		"no cache": {[]Composition{
			request(50_000, 0, apiUsage{Input: 50_000}), request(51_000, 4, apiUsage{Input: 20_000}),
		}, 70_000, 101_000},
		"a cache": {[]Composition{
			request(50_000, 0, apiUsage{Input: 50_000}), request(51_000, 0, apiUsage{Input: 1_000, CacheRead: 50_000}), request(52_000, 4, apiUsage{Input: 20_000}),
		}, 76_000, 50_000 + 6_000 + 6_100},
		"no answer": {[]Composition{
			request(50_000, 4, apiUsage{Input: 20_000}), {FullTokens: 50_000, Window: 200_000}, {FullTokens: 50_000, Window: 200_000, Status: http.StatusTooManyRequests},
		}, 20_000, 50_000},
		"only errors": {[]Composition{{FullTokens: 50_000, Window: 200_000, Status: http.StatusBadGateway}}, 0, 0},
	} {
		var sum costs
		for _, m := range c.made {
			sum.count(m, false)
		}
		if cost, plain := sum.total(false); cost != c.cost || plain != c.plain {
			t.Errorf("%s: %.0f against %.0f, want %.0f against %.0f", name, cost, plain, c.cost, c.plain)
		}
	}
}
