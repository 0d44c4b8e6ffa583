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

// What is gone, over, or written over has no rank before what is there: what comes first by words and by meaning has
// the score 1, whether vectors are in memory, rounded or not, or in the database.
func TestRanksAreOfWhatIsThere(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		for name, change := range map[string]func(*item.Index){"exact": func(*item.Index) {}, "rounded": func(ix *item.Index) { ix.ExactMost = 1 }, "database": func(ix *item.Index) { ix.Cache = 0 }} {
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
			list, err := b.Items.List(b.ctx, item.Query{Query: "cat"})
			b.ok(err)
			if len(list) != 1 || list[0].Key != "here" || *list[0].Score != 1 {
				for _, it := range list {
					t.Errorf("%s: %s has the score %v", name, it.Key, *it.Score)
				}
			}
		}
	})
}
