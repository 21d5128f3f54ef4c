package llm

import (
	"container/list"
	"crypto/sha256"
	"encoding/json"
	"sync"
)

// cacheKey is the hash of all that an answer depends on. Zero: none.
type cacheKey [sha256.Size]byte

// keyOf returns the key of a request to the provider of this name.
func keyOf(name string, r *Request) cacheKey {
	data, err := json.Marshal(struct {
		Version  int
		Provider string
		Request  *Request
	}{1, name, r})
	if err != nil {
		return cacheKey{}
	}
	return sha256.Sum256(data)
}

// entryOverhead is about what an entry takes beside its text.
const entryOverhead = 256

// cache remembers answers: those that were used last in memory, more of them in a directory. Programs share it: one can
// find out by the time it takes whether another had the same question, but never what others asked.
type cache struct {
	disk *diskCache // nil: none

	mu      sync.Mutex
	max     int64
	bytes   int64
	entries map[cacheKey]*list.Element
	order   list.List // of *cacheEntry, the last used first
}

type cacheEntry struct {
	key  cacheKey
	text string
}

func newCache(o *Options) *cache {
	c := &cache{max: o.CacheBytes, entries: map[cacheKey]*list.Element{}}
	if o.CacheDir != "" {
		c.disk = &diskCache{dir: o.CacheDir, max: o.CacheDirBytes, logger: o.Logger}
	}
	return c
}

func (c *cache) get(key cacheKey) (string, bool) {
	c.mu.Lock()
	if e := c.entries[key]; e != nil {
		c.order.MoveToFront(e)
		text := e.Value.(*cacheEntry).text
		c.mu.Unlock()
		return text, true
	}
	c.mu.Unlock()
	if c.disk == nil {
		return "", false
	}
	text, ok := c.disk.get(key)
	if ok {
		c.keep(key, text)
	}
	return text, ok
}

func (c *cache) put(key cacheKey, text string) {
	c.keep(key, text)
	if c.disk != nil {
		c.disk.put(key, text)
	}
}

// keep has an answer in memory, and forgets those that were not used for longest.
func (c *cache) keep(key cacheKey, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := int64(len(text)) + entryOverhead
	if size > c.max {
		return
	}
	if e := c.entries[key]; e != nil {
		c.forget(e)
	}
	for c.bytes+size > c.max {
		c.forget(c.order.Back())
	}
	c.entries[key] = c.order.PushFront(&cacheEntry{key, text})
	c.bytes += size
}

func (c *cache) forget(e *list.Element) {
	entry := c.order.Remove(e).(*cacheEntry)
	delete(c.entries, entry.key)
	c.bytes -= int64(len(entry.text)) + entryOverhead
}
