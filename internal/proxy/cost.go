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
	offset        int  // tokens that the simulated host has thrown away
	billed        bool // the provider charges for writes to its cache; OpenAI does not
}

// growing simulates the provider's cache for a history that grows.
type growing struct{ last int }

// add returns the price of the next request, with that of a new token. If exchanged, it
// does not continue the request before, and nothing of it is in the cache.
func (g *growing) add(tokens int, exchanged bool, price float64) float64 {
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
	if m.Checkpoint || m.Status != 0 && m.Status != http.StatusOK || m.FullTokens == 0 {
		return inputCost(m.Usage), 0
	}
	c.billed = c.billed || m.Usage.CacheWrite > 0
	price := 1.0
	if c.billed {
		price = writePrice
	}
	full := m.FullTokens - c.offset
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
