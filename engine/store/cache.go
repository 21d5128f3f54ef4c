package store

import (
	"sync"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// cacheSize bounds the verified objects that are kept in memory, in bytes.
const cacheSize = 16 << 20

// cache keeps verified objects. It has two generations: what was not used while the younger one filled up is dropped.
type cache struct {
	mu       sync.Mutex
	young    map[cas.Hash]cas.Object
	old      map[cas.Hash]cas.Object
	youngLen int
}

func (c *cache) get(h cas.Hash) (cas.Object, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, ok := c.young[h]; ok {
		return o, true
	}
	o, ok := c.old[h]
	if ok {
		c.put(h, o)
	}
	return o, ok
}

func (c *cache) add(h cas.Hash, o cas.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(h, o)
}

func (c *cache) put(h cas.Hash, o cas.Object) {
	if c.young == nil || c.youngLen > cacheSize/2 {
		c.young, c.old, c.youngLen = map[cas.Hash]cas.Object{}, c.young, 0
	}
	if _, ok := c.young[h]; !ok {
		c.young[h] = o
		c.youngLen += len(o.Data) + len(o.Refs)*len(h) + 128
	}
}

// drop forgets objects that were deleted.
func (c *cache) drop(hashes []cas.Hash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range hashes {
		delete(c.young, h)
		delete(c.old, h)
	}
}
