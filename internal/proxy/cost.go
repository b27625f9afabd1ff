package proxy

import "net/http"

// The prices of input, in uncached input tokens.
const (
	readPrice  = 0.1
	writePrice = 1.25
)

// inputCost is the price of an answer's input.
func inputCost(u apiUsage) float64 {
	return float64(u.Input) + readPrice*float64(u.CacheRead) + writePrice*float64(u.CacheWrite)
}

// The simulation of a host without the proxy: it compacts when the room for an answer
// and a reserve are all that is left of the window, and goes on with this much.
const (
	hostReserve    = 33_000
	afterCompacted = 30_000
)

// costs adds up the price of a session's requests, and simulates the price that they
// would have had without the proxy.
type costs struct {
	plain, folded growing
	// offset is how many tokens the simulated host has thrown away. It is negative if the
	// proxy has made the real one throw away more.
	offset int
	forced bool // the proxy has made the host compact
	billed bool // the provider charges for writes to its cache; OpenAI does not

	// The sums of all requests, and what they are made of.
	cost, without float64
	cached        bool // the provider has a cache
	changed       bool // the proxy has changed a request, or answered one
}

// count adds a request to the sums. A request without an answer counts neither with the
// proxy nor without it.
func (c *costs) count(m Composition, observe bool) {
	if m.Usage.Total() == 0 && !m.Checkpoint && m.Note != madeToCompact {
		return
	}
	cost, without := c.add(m, observe)
	c.cost, c.without = c.cost+cost, c.without+without
	c.cached = c.cached || m.Usage.CacheRead+m.Usage.CacheWrite > 0
	c.changed = c.changed || m.Dropped > 0 || m.Checkpoint
}

// total returns the price of all requests, and their price without the proxy. Requests that
// the proxy did not change cost the same without it. The cache is simulated only if the
// provider has one.
func (c *costs) total(observe bool) (cost, plain float64) {
	cost, plain = c.cost, c.without
	if !c.cached {
		plain = float64(c.plain.sum)
		if observe {
			cost = float64(c.folded.sum)
		}
	}
	if !c.changed {
		plain = cost
	}
	return cost, plain
}

// growing simulates the provider's cache for a history that grows.
type growing struct {
	last int
	sum  int // the tokens of all requests
}

// add returns the price of the next request, with that of a new token. If exchanged, it
// does not continue the request before, and nothing of it is in the cache.
func (g *growing) add(tokens int, exchanged bool, price float64) float64 {
	g.sum += tokens
	read := min(g.last, tokens)
	switch {
	case exchanged:
		read = 0
	case tokens*2 < g.last: // a request beside the history, such as that for a title
		return float64(tokens)
	}
	g.last = tokens
	return readPrice*float64(read) + price*float64(tokens-read)
}

// add returns the price of a request, and its price without the proxy. In observe mode
// the first is simulated too.
func (c *costs) add(m Composition, observe bool) (cost, plain float64) {
	c.forced = c.forced || m.Note == madeToCompact
	if m.Checkpoint && c.forced || m.Status != 0 && m.Status != http.StatusOK || m.FullTokens == 0 {
		return inputCost(m.Usage), 0
	}
	c.billed = c.billed || m.Usage.CacheWrite > 0
	price := 1.0
	if c.billed {
		price = writePrice
	}
	if c.forced {
		c.offset, c.forced = m.FullTokens-c.plain.last, false
	}
	full := m.FullTokens - c.offset
	if m.Checkpoint { // the user has typed /compact
		plain = c.plain.add(full, false, price)
		c.plain.last, c.offset = 0, 0
		return inputCost(m.Usage), plain
	}
	if full > m.Window-hostReserve {
		plain = c.plain.add(full, false, price) // the request for a summary
		c.offset = m.FullTokens - afterCompacted
		plain += c.plain.add(afterCompacted, true, price)
	} else {
		plain = c.plain.add(max(full, 0), false, price)
	}
	if observe {
		return c.folded.add(m.Tokens, m.Fold, price), plain
	}
	return inputCost(m.Usage), plain
}
