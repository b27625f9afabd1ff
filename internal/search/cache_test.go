package search_test

import (
	"container/list"
	"context"
	"sync"

	"github.com/lossless-context/lcm/internal/search/segment"
)

// cache keeps recently read sections in memory, as a store does. Sections never
// change, so nothing is ever invalidated.
type cache struct {
	blobs segment.Blobs
	limit int

	mu    sync.Mutex
	size  int
	items map[cacheKey]*list.Element
	order *list.List // most recently used first
}

type cacheKey struct{ segment, section int64 }

type cacheItem struct {
	key  cacheKey
	data []byte
}

// newCache returns blobs behind a cache of at most limit bytes.
func newCache(blobs segment.Blobs, limit int) *cache {
	return &cache{blobs: blobs, limit: limit, items: make(map[cacheKey]*list.Element), order: list.New()}
}

// Get implements segment.Blobs.
func (c *cache) Get(ctx context.Context, segment, section int64) ([]byte, error) {
	key := cacheKey{segment, section}
	c.mu.Lock()
	if e, ok := c.items[key]; ok {
		c.order.MoveToFront(e)
		c.mu.Unlock()
		return e.Value.(*cacheItem).data, nil
	}
	c.mu.Unlock()
	data, err := c.blobs.Get(ctx, segment, section)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.items[key]; !ok {
		c.items[key] = c.order.PushFront(&cacheItem{key, data})
		c.size += len(data)
	}
	for c.size > c.limit && c.order.Len() > 0 {
		oldest := c.order.Remove(c.order.Back()).(*cacheItem)
		delete(c.items, oldest.key)
		c.size -= len(oldest.data)
	}
	return data, nil
}
