package item_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/mapping/vectorindex"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
)

// Pages of a search by meaning and words contain each item once, at any depth, whether vectors are in memory or in the
// database. With another order they contain the best 1,000.
func TestPagesHaveEachItemOnce(t *testing.T) {
	t.Parallel()
	blank.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn := fresh(t)
		for _, room := range []int64{1 << 20, 0} {
			b := openAt(t, dsn, walkOptions(room))
			if room > 0 {
				b.fillPages()
			}
			for name, c := range map[string]struct {
				q    item.Query
				want int
			}{
				"best first":  {item.Query{}, walkItems},
				"by meaning":  {item.Query{SearchBy: mapping.SearchByMeaning}, walkItems},
				"with filter": {item.Query{Keep: filtered(`{"k":{"$ne":3}}`)}, walkItems - (walkItems-3+6)/7},
				"by key":      {item.Query{SortBy: mapping.SortByKey}, 1000},
				"worst first": {item.Query{SortBy: mapping.SortByScore, Asc: true}, 1000},
			} {
				seen, last, found := map[string]bool{}, math.Inf(1), 0
				for c.q.Query, c.q.Limit = "common word7", 100; ; c.q.Offset += c.q.Limit {
					list, err := b.Items.List(b.ctx, c.q)
					b.ok(err)
					for _, it := range list {
						seen[fmt.Sprint(it.Namespace, it.Key)] = true
						if c.q.SortBy == "" && *it.Score > last {
							t.Errorf("room %d, %s: %s comes after one with a lower score", room, name, it.Key)
						}
						last = *it.Score
					}
					if found += len(list); len(list) == 0 {
						break
					}
				}
				if found != c.want || len(seen) != c.want {
					t.Errorf("room %d, %s: %d items, %d different ones, want %d", room, name, found, len(seen), c.want)
				}
			}
			b.ok(b.Close())
		}
	})
}

// fillPages writes items that all have a word of the queries, one of them more often than the others.
func (b *harness) fillPages() {
	b.t.Helper()
	var list []item.Put
	for n := range walkItems {
		value := fmt.Appendf(nil, `{"k":%d,"t":"common word%d%s"}`, n%7, n, strings.Repeat(" other", n*7919%5))
		list = append(list, item.Put{Item: mapping.Item{Namespace: walkSpace(n), Key: fmt.Sprint("k", n), Value: value}, Index: []byte(`["t"]`)})
	}
	b.ok(b.Items.PutAll(b.ctx, list...))
	b.embed()
}

// The score by meaning is the cosine. The score by meaning and words is not lower, and it is higher only for items with
// words of the query. So a threshold for the cosine loses nothing.
func TestScoresAreNoLowerThanTheCosine(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t, walkOptions(1<<20))
		b.fillWalk()
		query, _ := chance{8}.Query(b.ctx, "word7")
		scores := map[mapping.SearchBy]map[string]float64{}
		for _, by := range []mapping.SearchBy{mapping.SearchByBoth, mapping.SearchByMeaning} {
			list, err := b.Items.List(b.ctx, item.Query{Query: "word7", SearchBy: by})
			b.ok(err)
			scores[by] = map[string]float64{}
			for _, it := range list {
				scores[by][it.Key] = *it.Score
			}
		}
		for n := range walkItems {
			key, p := fmt.Sprint("k", n), walkItem(n)
			near := float32(-2)
			for _, text := range itemquery.VectorTexts(p.Item.Value, p.Index, nil) {
				v, _ := chance{8}.Query(b.ctx, text)
				near = max(near, vectorindex.Near(query, v))
			}
			both, meaning := scores[mapping.SearchByBoth][key], scores[mapping.SearchByMeaning][key]
			has := strings.Contains(string(p.Item.Value), `"word7"`)
			if meaning != float64(near) || both < meaning || both > 1.001 || has != (both > meaning) && near < 0.999 {
				t.Errorf("%s is %v near, has the word: %v; its scores are %v and %v", key, near, has, meaning, both)
			}
		}
	})
}

// A filter that half of the items pass is applied only to the best ones, though an index has all that pass. A filter
// that few pass is applied to those.
func TestIndexIsUsedOnlyIfFewPass(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t, walkOptions(1<<20))
		b.fillWalk()
		for text, most := range map[string]int{`{"k":{"$gte":3}}`: 200, `{"k":6,"t":"word1"}`: walkItems / 50} {
			filter, err := itemquery.ParseFilter(json.RawMessage(text))
			b.ok(err)
			asked := 0
			keep := func(value json.RawMessage) bool { asked++; return filter.Match(value) }
			list := b.search(item.Query{Query: "query", Limit: 3, Keep: keep, Members: filter.Members()})
			if len(list) != 3 || asked > most {
				t.Errorf("%s: found %v, filtered %d items, want at most %d", text, list, asked, most)
			}
		}
	})
}
