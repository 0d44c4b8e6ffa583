package item_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// Searches by prefix and filter in a store of 100,000 items: in a namespace with 100 items and in all, also for words
// that all items have.
func BenchmarkFilterItems(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "b.db"), store.Options{Synchronous: "normal"})
	for n := 0; n < 100_000; n += 500 {
		var list []item.Put
		for i := n; i < n+500; i++ {
			list = append(list, item.Put{Item: mapping.Item{Namespace: []string{"users", fmt.Sprintf("u%d", i%1000)}, Key: fmt.Sprintf("k%d", i),
				Value: fmt.Appendf(nil, `{"kind":%d,"n":%d,"more":{"kind":%d,"n":%d},"text":"something to remember about a user, of some length"}`, i/1000%10, i, i%9, i)}})
		}
		s.ok(s.Items.PutAll(s.ctx, list...))
	}
	for name, c := range map[string]struct {
		prefix []string
		filter string
		sort   mapping.SortKey
		found  int
		query  string
	}{
		"namespace":  {[]string{"users", "u7"}, `{"kind":3}`, "", 10, ""},
		"all, first": {nil, `{"kind":3}`, "", 10, ""},
		"all, rare":  {[]string{"users"}, `{"n":99999}`, "", 1, ""},
		"all, range": {[]string{"users"}, `{"n":{"$gte":99000}}`, mapping.SortByUpdated, 10, ""},
		// No index serves these, and all items have the word.
		"a common word, most pass": {[]string{"users"}, `{"kind":{"$ne":3}}`, "", 10, "remember"},
		"common words, most pass":  {[]string{"users"}, `{"kind":{"$ne":3}}`, "", 10, "something to remember"},
		"a common word, one of 9":  {[]string{"users"}, `{"more":{"kind":3}}`, "", 10, "remember"},
		"a common word, few pass":  {[]string{"users"}, `{"more":{"n":{"$gte":99990}}}`, "", 10, "remember"},
	} {
		filter, err := itemquery.ParseFilter(json.RawMessage(c.filter))
		s.ok(err)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			defer storetest.CPU(b)()
			for b.Loop() {
				if found := s.search(item.Query{Prefix: c.prefix, Keep: filter.Match, Members: filter.Members(), Query: c.query, Limit: 10, SortBy: c.sort}); len(found) != c.found {
					b.Fatalf("%d found", len(found))
				}
			}
		})
	}
}
