package eventlog

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// cache keeps the most recently used values, limited in number and in total weight in bytes. The newest value is kept
// regardless of its weight. Safe for concurrent use.
type cache[V any] struct {
	mu   sync.Mutex
	lru  *simplelru.LRU[string, weighed[V]]
	held int // bytes
	most int
}

type weighed[V any] struct {
	value  V
	weight int
}

func newCache[V any](number, most int) (*cache[V], error) {
	c := &cache[V]{most: most}
	lru, err := simplelru.NewLRU(number, func(_ string, w weighed[V]) { c.held -= w.weight })
	c.lru = lru
	return c, err
}

func (c *cache[V]) add(key string, value V, weight int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key) // replacing would not subtract the old weight
	c.held += weight
	c.lru.Add(key, weighed[V]{value, weight})
	for c.held > c.most && c.lru.Len() > 1 {
		c.lru.RemoveOldest()
	}
}

func (c *cache[V]) get(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.lru.Get(key)
	return w.value, ok
}

// take is like get, but also removes the value.
func (c *cache[V]) take(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.lru.Peek(key)
	if ok {
		c.lru.Remove(key)
	}
	return w.value, ok
}
