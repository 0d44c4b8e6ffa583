package item

import (
	"context"
	"sync"

	"github.com/apbridge/apbridge/mapping/vectorindex"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// tenantsKept bounds the tenants whose vectors are kept, however few they have.
const tenantsKept = 10_000

// vectorCache is what a process keeps of item_vectors: those of the tenants that have searched last, as many as
// Index.Cache allows. What the table has gained since is read at each search.
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

// tenantVectors are those of one tenant. They are read with mu.RLock. Items that were removed from the table stay in
// them: what is found is looked up in the database before it has a rank.
type tenantVectors struct {
	counted int64 // of the cache's size; under its lock

	mu                  sync.RWMutex
	generation, version int64 // of item_index, when it was read last
	large               bool  // there are too many to be kept, and none are
	pieces              []*vectorPiece
	at                  map[string]vectorPlace // by itemName.id
	size                int64
}

// vectorPlace is where an item's vectors are.
type vectorPlace struct{ piece, entry int32 }

// entrySize is about what an entry takes besides its numbers, its namespace and its key.
const entrySize = 100

// find returns the vectors of a tenant, as they were read last.
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

// account makes room for what a tenant's vectors have become, by those of other tenants.
func (c *vectorCache) account(tenant string, v *tenantVectors, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.tenants.Get(tenant); !ok || now != v {
		return // others were searched meanwhile, and it made room itself
	}
	c.size += size - v.counted
	v.counted = size
	for c.size > c.index.Cache && c.tenants.Len() > 1 {
		c.tenants.RemoveOldest()
	}
}

// refresh brings a tenant's vectors up to date. ready reports whether the table has those of this process's index; else
// nothing is to be looked for in them.
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
	// A caller that gives up has the next one find them read.
	if ready, err = c.load(context.WithoutCancel(ctx), tenant, v); err != nil {
		v.reset(-1)
	}
	c.account(tenant, v, v.size)
	return ready, err
}

// load reads what is new to v.
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
	case again: // some may be of items that are gone
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

// put takes the vectors of an item in the place of those it had.
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
		e.count = 0 // its room is lost until all are read anew
		delete(v.at, id)
	}
	if len(numbers) == 0 {
		return
	}
	if len(v.pieces) == 0 || v.pieces[len(v.pieces)-1].full(len(numbers)) {
		room := max(len(numbers), dims<<min(len(v.pieces), pieceShift)) // few items take little
		v.pieces = append(v.pieces, newVectorPiece(room))
		v.size += v.pieces[len(v.pieces)-1].size()
	}
	last := len(v.pieces) - 1
	v.at[id] = vectorPlace{int32(last), int32(len(v.pieces[last].entries))}
	v.pieces[last].add(id, numbers, dims)
	v.size += int64(len(id) + entrySize)
}
