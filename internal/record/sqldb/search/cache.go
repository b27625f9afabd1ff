package search

import "sync"

// sectionKey identifies a section of the index. Segments never change and their
// ids are never reused, so a cached section stays valid.
type sectionKey struct{ segment, n int64 }

// cacheBytes is the size of the cache, unless [sqldb.Settings] has another. It is small,
// because a long-lived process fills it before the record is large; the operating system
// caches the rest.
const cacheBytes = 8 << 20

// sectionCache keeps recently read sections in two generations, and drops the
// older when the newer is full. It is coarser than a list by age, and a hit
// changes nothing.
type sectionCache struct {
	size      int // in bytes
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

// clear drops everything, so that erased text does not stay in memory.
func (c *sectionCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.youngSize = nil, nil, 0
}

func (c *sectionCache) add(k sectionKey, data []byte) {
	if c.young == nil || c.youngSize+len(data) > c.size/2 {
		c.old, c.young, c.youngSize = c.young, map[sectionKey][]byte{}, 0
	}
	c.young[k] = data
	c.youngSize += len(data)
}
