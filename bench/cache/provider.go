package cache

import (
	"crypto/sha256"
	"time"
)

// What a token costs, in units of an uncached one.
const (
	readCost      = 0.1
	shortCost     = 1.25 // to write, with a lifetime of five minutes
	longCost      = 2.0  // to write, with a lifetime of an hour
	shortLifetime = 5 * time.Minute
	longLifetime  = time.Hour
)

// lookBack is how many blocks before a mark the provider looks for a cached
// prefix. It is Anthropic's figure.
const lookBack = 20

// Block is a part of a prompt that the provider caches as a whole.
type Block struct {
	Hash   [sha256.Size]byte
	Tokens int
}

// Usage is the input of a request, or of several, in tokens.
type Usage struct {
	Requests int     `json:"requests"`
	Read     int     `json:"cacheRead"`
	Written  int     `json:"cacheWrite"`
	Largest  int     `json:"largest"` // request
	Cost     float64 `json:"cost"`    // in units of an uncached token
}

// Provider simulates the prompt cache of a provider. Requests mark their first
// block, which stands for the system prompt and the tools, and their last. The
// provider reads the longest prefix that an earlier request has marked, if that
// ends at a mark or at most lookBack blocks before it, and writes the rest.
// Reading a prefix prolongs its life.
type Provider struct {
	Lifetime time.Duration
	cached   map[[sha256.Size]byte]time.Time // when prefixes expire
	Usage
}

// writeCost is the cost of a token that is written to the cache.
func (p *Provider) writeCost() float64 {
	if p.Lifetime > shortLifetime {
		return longCost
	}
	return shortCost
}

// Ask takes a request.
func (p *Provider) Ask(now time.Time, prompt []Block) {
	if p.cached == nil {
		p.cached = map[[sha256.Size]byte]time.Time{}
	}
	prefixes := make([][sha256.Size]byte, len(prompt))
	total, read := 0, 0
	var last [sha256.Size]byte
	for i, b := range prompt {
		last = sha256.Sum256(append(last[:], b.Hash[:]...))
		prefixes[i] = last
		total += b.Tokens
		near := i == 0 || i >= len(prompt)-1-lookBack
		if expires, found := p.cached[last]; near && found && now.Before(expires) {
			p.cached[last] = now.Add(p.Lifetime)
			read = total
		}
	}
	p.cached[prefixes[0]] = now.Add(p.Lifetime)
	p.cached[last] = now.Add(p.Lifetime)
	p.Requests++
	p.Read += read
	p.Written += total - read
	p.Largest = max(p.Largest, total)
	p.Cost += readCost*float64(read) + p.writeCost()*float64(total-read)
}
