package item

import (
	"context"
	"sync"

	"github.com/apbridge/apbridge/mapping/vectorindex"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// tenantsKept limits the number of tenants whose vectors are cached, even if they have few.
const tenantsKept = 10_000

// vectorCache caches rows of item_vectors: those of the tenants that searched last, up to Index.Cache bytes. Each
// search reads the changes since the last one. Safe for concurrent use.
type vectorCache struct {
	db    *sqldb.DB
	index *Index

	mu      sync.Mutex
	tenants *simplelru.LRU[string, *tenantVectors]
	size    int64 // of all
}

func newVectorCache(db *sqldb.DB, ix *Index) *vectorCache {
	c := &vectorCache{db: db, index: ix}
	var err error
	if c.tenants, err = simplelru.NewLRU(tenantsKept, func(_ string, v *tenantVectors) { c.size -= v.counted }); err != nil {
		panic(err) // the size is a positive constant
	}
	return c
}

// tenantVectors holds the vectors of one tenant. Readers hold mu.RLock. It keeps items that were removed from the
// table, so results are looked up in the database before they are ranked.
type tenantVectors struct {
	counted int64 // its part of the cache's size; the cache's lock guards it

	mu                  sync.RWMutex
	generation, version int64 // of item_index at the last read
	large               bool  // there are too many to cache; none are kept
	pieces              []*vectorPiece
	at                  map[string]vectorPlace // by itemName.id
	size                int64
}

// vectorPlace is the position of an item's vectors.
type vectorPlace struct{ piece, entry int32 }

// entrySize is the approximate overhead of an entry in bytes, in addition to its numbers, namespace and key.
const entrySize = 100

// find returns the cached vectors of a tenant, which may be outdated or empty.
func (c *vectorCache) find(tenant string) *tenantVectors {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.tenants.Get(tenant)
	if !ok {
		v = &tenantVectors{generation: -1}
		c.tenants.Add(tenant, v)
	}
	return v
}

// account updates the size of a tenant's vectors and evicts other tenants if needed.
func (c *vectorCache) account(tenant string, v *tenantVectors, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.tenants.Get(tenant); !ok || now != v {
		return // the tenant was evicted in the meantime, which has corrected the size
	}
	c.size += size - v.counted
	v.counted = size
	for c.size > c.index.Cache && c.tenants.Len() > 1 {
		c.tenants.RemoveOldest()
	}
}

// refresh brings a tenant's vectors up to date. ready reports whether the stored vectors belong to this process's
// index. If not, they must not be searched.
func (c *vectorCache) refresh(ctx context.Context, tenant string, v *tenantVectors) (ready bool, err error) {
	var now indexState
	err = c.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		now, err = readIndex(t)
		return err
	})
	if err != nil || !now.ready(c.index) {
		return false, err
	}
	v.mu.RLock()
	fresh := v.generation == now.generation && v.version >= now.version
	v.mu.RUnlock()
	if fresh {
		return true, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	// Finish loading even if the caller gives up, so that the next one finds the vectors loaded.
	if ready, err = c.load(context.WithoutCancel(ctx), tenant, v); err != nil {
		v.reset(-1)
	}
	c.account(tenant, v, v.size)
	return ready, err
}

// load reads the changes since the last read into v.
func (c *vectorCache) load(ctx context.Context, tenant string, v *tenantVectors) (ready bool, err error) {
	err = c.db.Read(ctx, func(t *sqldb.Tx) error {
		now, err := readIndex(t)
		if ready = now.ready(c.index); err != nil || !ready {
			return err
		}
		if v.generation != now.generation {
			v.reset(now.generation)
		}
		if !v.large {
			err = c.read(ctx, t, tenant, v)
		}
		v.version = now.version
		return err
	})
	return ready, err
}

func (c *vectorCache) read(ctx context.Context, t *sqldb.Tx, tenant string, v *tenantVectors) error {
	again := v.version > 0
	var kept sqldb.Buffer
	var numbers []float32
	err := t.Until(`SELECT namespace, item_key, vectors FROM item_vectors WHERE tenant = $1 AND version > $2`, sqldb.In{tenant, v.version}, func(scan func(...any) error) (bool, error) {
		at := itemName{tenant: tenant}
		if err := scan(&at.namespace, &at.key, at.unsealed(&kept, itemVectors)); err != nil {
			return false, err
		}
		numbers = vectorindex.AppendVector(numbers[:0], kept)
		v.put(at, numbers, c.index.Dims)
		return v.size <= c.index.Cache, ctx.Err()
	})
	switch {
	case err != nil || v.size <= c.index.Cache:
		return err
	case again: // some may belong to removed items
		v.reset(v.generation)
		return c.read(ctx, t, tenant, v)
	}
	v.reset(v.generation)
	v.large = true
	return nil
}

func (v *tenantVectors) reset(generation int64) {
	v.generation, v.version, v.large, v.pieces, v.at, v.size = generation, 0, false, nil, map[string]vectorPlace{}, 0
}

// put stores the vectors of an item, replacing earlier ones.
func (v *tenantVectors) put(at itemName, numbers []float32, dims int) {
	id := at.id()
	numbers = numbers[:len(numbers)/dims*dims]
	if place, ok := v.at[id]; ok {
		p := v.pieces[place.piece]
		e := &p.entries[place.entry]
		if int(e.count)*dims == len(numbers) {
			copy(p.of(e, dims), numbers)
			return
		}
		e.count = 0 // its space is unused until all are reloaded
		delete(v.at, id)
	}
	if len(numbers) == 0 {
		return
	}
	if len(v.pieces) == 0 || v.pieces[len(v.pieces)-1].full(len(numbers)) {
		room := max(len(numbers), dims<<min(len(v.pieces), pieceShift)) // few items take little space
		v.pieces = append(v.pieces, newVectorPiece(room))
		v.size += v.pieces[len(v.pieces)-1].size()
	}
	last := len(v.pieces) - 1
	v.at[id] = vectorPlace{int32(last), int32(len(v.pieces[last].entries))}
	v.pieces[last].add(id, numbers, dims)
	v.size += int64(len(id) + entrySize)
}
