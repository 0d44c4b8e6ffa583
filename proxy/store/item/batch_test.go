package item_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// large returns an item of a megabyte. The lower n is, the more often it contains the words.
func large(n int) string {
	words := []string{"a", "b", "c", "d"}[:4-n%4]
	return fmt.Sprintf(`{"n":%d,"words":%q,"text":%q}`, n, strings.Join(words, " "), strings.Repeat("x", 1<<20))
}

// Results are read a few megabytes at a time, in the order of the search. Items removed before they are read are left
// out, and changed ones have their new value.
func TestItemsAreReadInBatches(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		var all []string
		for n := range 12 {
			all = append(all, fmt.Sprintf("k%02d", n))
			b.put(all[n], large(n), "ns")
		}
		if got := b.search(item.Query{Prefix: []string{"ns"}}); !slices.Equal(got, all) {
			t.Errorf("found %v", got)
		}
		best := b.search(item.Query{Prefix: []string{"ns"}, Query: "a b c d", Limit: 5, Offset: 1})
		if want := []string{"k04", "k08", "k01", "k05", "k09"}; !slices.Equal(best, want) {
			t.Errorf("the best are %v, want %v", best, want)
		}
		var got []string
		for it, err := range b.Items.Search(b.ctx, item.Query{Prefix: []string{"ns"}, Query: "a", Limit: 20}) {
			b.ok(err)
			if it.Score == nil || len(it.Value) == 0 {
				t.Errorf("%s has score %v and %d bytes", it.Key, it.Score, len(it.Value))
			}
			if got = append(got, it.Key); len(got) == 1 {
				b.ok(b.Items.Delete(b.ctx, []string{"ns"}, "k08"))
				b.put("k04", `{"short":1}`, "ns")
			}
			if it.Key == "k04" && string(it.Value) != `{"short":1}` {
				t.Errorf("k04 has %d bytes", len(it.Value))
			}
		}
		if len(got) != 11 || slices.Contains(got, "k08") {
			t.Errorf("found %v", got)
		}
	})
}

// Not parallel, because it measures all live memory.
func TestManyLargeItemsTakeLittleMemory(t *testing.T) {
	b := openAt(t, filepath.Join(t.TempDir(), "a.db"), store.Options{Synchronous: "normal"})
	for n := range 32 {
		b.put(fmt.Sprintf("k%02d", n), large(n), "ns")
	}
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most := live(), uint64(0)
	for n, q := range []item.Query{{}, {Query: "a"}} {
		found := 0
		for it, err := range b.Items.Search(b.ctx, q) {
			b.ok(err)
			if found++; found%8 == 1 {
				most = max(most, live())
			}
			runtime.KeepAlive(it)
		}
		if found != 32 || most > before+20<<20 {
			t.Errorf("query %d: %d items, %d bytes live", n, found, most-before)
		}
	}
}
