package e2e

import (
	"bytes"
	"crypto/sha256"
	"regexp"
	"time"
)

// cacheBlock is a piece of a request, as the cache sees it: without its mark.
type cacheBlock struct {
	role string
	raw  []byte
	ttl  string // of the mark on it: "5m", "1h" or none
}

// cacheKey identifies a prefix of a request to a model.
type cacheKey [sha256.Size]byte

// promptCache simulates the prompt cache of a provider.
type promptCache struct {
	until map[cacheKey]time.Time // when a prefix leaves the cache
}

// Anthropic looks for a cached prefix at a mark and at the blocks before it, up to
// this many. OpenAI's cache needs no marks and keeps entries for some minutes.
const (
	lookBack      = 20
	leastCached   = 1024 // tokens of the shortest prefix that is cached
	shortLifetime = 5 * time.Minute
	longLifetime  = time.Hour
)

// charge looks up a request, stores its prefixes and returns the tokens that the
// cache holds of it afterwards, and of these the tokens read and written.
func (c *promptCache) charge(v apiVerdict, now time.Time) (prefix, read, written int) {
	keys, sizes := cachePrefixes(v)
	hit := c.longest(v, keys, now)
	last := -1
	for i, b := range v.blocks {
		lifetime := shortLifetime
		switch {
		case v.marked && b.ttl == "", bytesToTokens(sizes[i]) < leastCached:
			continue
		case b.ttl == "1h":
			lifetime = longLifetime
		}
		c.until[keys[i]] = now.Add(lifetime)
		last = i
	}
	if hit >= 0 {
		read = bytesToTokens(sizes[hit])
		c.until[keys[hit]] = laterOf(c.until[keys[hit]], now.Add(shortLifetime))
	}
	if last >= 0 {
		prefix = bytesToTokens(sizes[last])
	}
	if v.marked && last > hit {
		written = prefix - read
	}
	return prefix, read, written
}

// longest returns the end of the longest prefix that is in the cache, or -1.
func (c *promptCache) longest(v apiVerdict, keys []cacheKey, now time.Time) int {
	for i := len(keys) - 1; i >= 0; i-- {
		if c.until[keys[i]].After(now) && (!v.marked || inReach(v.blocks, i)) {
			return i
		}
	}
	return -1
}

// inReach reports whether a mark stands on a block or at most lookBack−1 blocks behind it.
func inReach(blocks []cacheBlock, i int) bool {
	for j := i; j < len(blocks) && j < i+lookBack; j++ {
		if blocks[j].ttl != "" {
			return true
		}
	}
	return false
}

// cachePrefixes returns a key and the size in bytes of each prefix of a request.
func cachePrefixes(v apiVerdict) ([]cacheKey, []int) {
	keys, sizes := make([]cacheKey, len(v.blocks)), make([]int, len(v.blocks))
	previous, size := sha256.Sum256([]byte(v.model)), 0
	for i, b := range v.blocks {
		h := sha256.New()
		h.Write(previous[:])
		h.Write([]byte(b.role + "\x00"))
		h.Write(b.raw)
		h.Sum(previous[:0])
		size += len(b.raw)
		keys[i], sizes[i] = previous, size
	}
	return keys, sizes
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// A mark in JSON. In a string the quotes are escaped, so that it does not match.
var markPattern = regexp.MustCompile(`,?"cache_control":\{[^{}]*\}`)

// unmarked returns the JSON of a block without its mark.
func unmarked(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`"cache_control":{`)) {
		return raw
	}
	return markPattern.ReplaceAll(raw, nil)
}
