package item_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/embedding/embeddingtest"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// Removed, expired or overwritten items take no place on a page, whether vectors are in memory or in the database.
func TestPagesContainExistingItems(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		for name, change := range map[string]func(*item.Index){"memory": func(*item.Index) {}, "database": func(ix *item.Index) { ix.Cache = 0 }} {
			e := embeddingtest.Serve(t, vectorDims)
			clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
			ix := indexOf(t, e, "m")
			change(ix)
			b := open(t, store.Options{Synchronous: "normal", Index: ix, Now: clock.now})
			put := func(key, value string, ttl time.Duration) {
				t.Helper()
				it := mapping.Item{Namespace: []string{"n"}, Key: key, Value: []byte(value)}
				b.ok(b.Items.Put(b.ctx, item.Put{Item: it, TTL: ttl}))
			}
			for i := range 3 {
				put(fmt.Sprint("gone", i), `{"t":"cat"}`, 0)
				put(fmt.Sprint("over", i), `{"t":"cat"}`, time.Minute)
				put(fmt.Sprint("other", i), `{"t":"cat"}`, 0)
			}
			put("here", `{"t":"a cat in the rain and the storm"}`, 0)
			b.embed()
			b.wantMeaning(item.Query{Query: "cat", Limit: 1}, "gone0")
			clock.at = clock.at.Add(time.Hour)
			for i := range 3 {
				b.ok(b.Items.Delete(b.ctx, []string{"n"}, fmt.Sprint("gone", i)))
				put(fmt.Sprint("other", i), `{"t":"engine"}`, 0)
			}
			for _, by := range []mapping.SearchBy{mapping.SearchByBoth, mapping.SearchByMeaning} {
				if got := b.search(item.Query{Query: "cat", SearchBy: by, Limit: 1}); len(got) != 1 || got[0] != "here" {
					t.Errorf("%s, by %q: %v", name, by, got)
				}
			}
		}
	})
}
