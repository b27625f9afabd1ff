package search

import "sync"

// sectionKey names a section of the index. Segments never change and their
// ids are never used again, so a cached section is right for ever.
type sectionKey struct{ segment, n int64 }

// cacheBytes is how much of the index is kept in memory. It is little, since a
// process that lives long has filled it before the record has grown large: what
// is read past it comes from the operating system's cache.
const cacheBytes = 8 << 20

// sectionCache keeps recently read sections: two generations, the older of
// which is dropped when the newer is full. It is coarser than a list by age
// and needs no bookkeeping on a hit.
type sectionCache struct {
	mu        sync.Mutex
	young     map[sectionKey][]byte
	old       map[sectionKey][]byte
	youngSize int
}

func (c *sectionCache) get(k sectionKey) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if data, ok := c.young[k]; ok {
		return data, true
	}
	data, ok := c.old[k]
	if ok {
		c.add(k, data)
	}
	return data, ok
}

func (c *sectionCache) put(k sectionKey, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(k, data)
}

// clear drops everything: what was erased must not live on in memory.
func (c *sectionCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.youngSize = nil, nil, 0
}

func (c *sectionCache) add(k sectionKey, data []byte) {
	if c.young == nil || c.youngSize+len(data) > cacheBytes/2 {
		c.old, c.young, c.youngSize = c.young, map[sectionKey][]byte{}, 0
	}
	c.young[k] = data
	c.youngSize += len(data)
}
