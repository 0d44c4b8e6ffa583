package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

const (
	storeItems      = 100_000
	storeItemsThere = 16_000 // of a LangGraph server, which searches all it has for each request
	storeNamespaces = 1000
)

// items writes to and reads from a store of 100,000 items, compared with that of a LangGraph server if there is one.
func (b *bench) items(t *testing.T) {
	bridges := map[string]*rig.Process{}
	for _, v := range b.versions {
		bridges[v.name] = b.fresh(t, v.binary)
		defer bridges[v.name].Stop()
		itemStore{bridges[v.name].URL, storeItems}.fill(t)
	}
	var there *itemStore
	if url := os.Getenv(langgraphVariable); url != "" {
		there = &itemStore{url, storeItemsThere}
		there.fill(t)
	} else {
		b.table.skip("store ÷ LangGraph JS server", langgraphVariable+" is not set")
	}
	for _, op := range []struct {
		name        string
		work        func(itemStore) benchRun
		floor, goal float64
	}{
		{"put", itemStore.put, 1.5, 4},
		{"get", itemStore.get, 3, 5},
		{"prefix and filter", itemStore.search, 1, 2},
	} {
		var ways []way
		for _, v := range b.versions {
			bridge := bridges[v.name]
			ways = append(ways, way{name: v.name, work: op.work(itemStore{bridge.URL, storeItems}), bridge: bridge})
		}
		if there != nil {
			ways = append(ways, way{name: "langgraph", work: op.work(*there)})
		}
		c := b.compare(t, "store "+op.name, 64, ways...)
		b.table.figure("store of 100,000 items, 64 clients: "+op.name, b.each(func(name string) float64 { return c.median(name, benchSample.rate) }), "/s")
		if there != nil {
			b.table.atLeast("store of 100,000 items, "+op.name+" ÷ LangGraph JS at 16,000", b.ratio(c, "langgraph", benchSample.rate), "×", op.floor, op.goal)
		}
	}
}

// itemStore is a store with items in namespaces ["users", "u<n>"]. Each namespace has items of ten kinds.
type itemStore struct {
	url   string
	items int
}

func (s itemStore) fill(t *testing.T) {
	t.Helper()
	var next atomic.Int64
	filled := benchNumber(t.Context(), 64, s.items, func(ctx context.Context, c *http.Client) (time.Duration, error) {
		return 0, s.putOne(ctx, c, int(next.Add(1)-1))
	})
	if filled.failed > 0 {
		t.Fatalf("%d items were not stored, last: %v", filled.failed, filled.lastErr)
	}
}

func (s itemStore) putOne(ctx context.Context, c *http.Client, i int) error {
	_, err := rig.Call(ctx, c, http.MethodPut, s.url+"/store/items",
		fmt.Sprintf(`{"namespace":["users","u%d"],"key":"k%d","value":{"kind":%d,"text":"something to remember about a user, of some length"}}`,
			i%storeNamespaces, i, i/storeNamespaces%10))
	return err
}

// put overwrites existing items.
func (s itemStore) put() benchRun {
	return s.each(s.putOne)
}

func (s itemStore) get() benchRun {
	return s.each(func(ctx context.Context, c *http.Client, i int) error {
		text, err := benchGet(ctx, c, fmt.Sprintf("%s/store/items?namespace=users.u%d&key=k%d", s.url, i%storeNamespaces, i))
		if err == nil && !bytes.Contains(text, []byte("something to remember")) {
			err = fmt.Errorf("item %d is %.100s", i, text)
		}
		return err
	})
}

// search requests a namespace's items of one kind.
func (s itemStore) search() benchRun {
	return s.each(func(ctx context.Context, c *http.Client, i int) error {
		text, err := rig.Call(ctx, c, http.MethodPost, s.url+"/store/items/search",
			fmt.Sprintf(`{"namespace_prefix":["users","u%d"],"filter":{"kind":%d},"limit":10}`, i%storeNamespaces, i/storeNamespaces%10))
		if err == nil && !bytes.Contains(text, []byte("something to remember")) {
			err = fmt.Errorf("nothing was found: %.100s", text)
		}
		return err
	})
}

// each calls the work for each item, in a shuffled order.
func (s itemStore) each(work func(context.Context, *http.Client, int) error) benchRun {
	const stride = 7919 // prime
	var next atomic.Int64
	return func(ctx context.Context, c *http.Client) (time.Duration, error) {
		return 0, work(ctx, c, int(next.Add(stride))%s.items)
	}
}
