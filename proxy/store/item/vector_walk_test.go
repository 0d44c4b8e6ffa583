package item_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"github.com/google/go-cmp/cmp"
)

// walkItems is more than a walk reads.
const walkItems = 1300

// walkQueries have filters without an index that many, some or one item passes, with words that some or no items have.
func walkQueries() map[string]item.Query {
	list := map[string]item.Query{}
	for _, filter := range []string{`{"k":{"$ne":3}}`, `{"deep":{"k":{"$lt":4}}}`, `{"deep":{"n":7}}`} {
		for _, words := range []string{"query", "word7 word8"} {
			for _, q := range []item.Query{
				{Limit: 10}, {Limit: 3, Offset: 200}, {Limit: 10, SortBy: mapping.SortByKey}, {Limit: 10, SortBy: mapping.SortByScore, Asc: true}, {},
			} {
				q.Prefix, q.Query = []string{"n"}, words
				q.Keep = filtered(filter)
				list[fmt.Sprint(filter, words, q.Limit, q.Offset, q.SortBy)] = q
			}
		}
	}
	return list
}

func filtered(text string) func(json.RawMessage) bool {
	filter, err := itemquery.ParseFilter(json.RawMessage(text))
	if err != nil {
		panic(err)
	}
	return filter.Match
}

// scores returns the names of the results with their scores.
func (b *harness) scores(q item.Query) (list []string) {
	b.t.Helper()
	found, err := b.Items.List(b.ctx, q)
	b.ok(err)
	for _, it := range found {
		list = append(list, fmt.Sprint(it.Namespace, it.Key, *it.Score))
	}
	return list
}

// A filter applied only to the nearest items finds the same as one applied to all, which is done if no vectors are
// cached. That holds for removed and overwritten items, too.
func TestFilterOfTheNearestFindsTheSameAsFilterOfAll(t *testing.T) {
	t.Parallel()
	blank.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn := fresh(t)
		b := openAt(t, dsn, walkOptions(1<<20))
		b.fillWalk()
		for n := range 20 {
			at := n * 61
			if n%2 == 0 {
				b.ok(b.Items.Delete(b.ctx, walkSpace(at), fmt.Sprint("k", at)))
			} else {
				b.ok(b.Items.Put(b.ctx, walkItem(at)))
			}
		}
		walked := map[string][]string{}
		for name, q := range walkQueries() {
			walked[name] = b.scores(q)
		}
		b.wantWalk(true)
		b.ok(b.Close())
		b = openAt(t, dsn, walkOptions(0))
		for name, q := range walkQueries() {
			if d := cmp.Diff(b.scores(q), walked[name]); d != "" {
				t.Errorf("%s (-all +nearest)\n%s", name, d)
			}
		}
		b.wantWalk(false)
	})
}

func walkOptions(room int64) store.Options {
	whole := []itemquery.ItemPath{{}}
	return store.Options{Synchronous: "normal", Index: &item.Index{Embed: chance{8}, Dims: 8, Mark: "m", Cache: room, Fields: whole}}
}

func walkSpace(n int) []string { return []string{"n", fmt.Sprint("of", n%3)} }

func walkItem(n int) item.Put {
	value := fmt.Appendf(nil, `{"k":%d,"deep":{"k":%d,"n":%d},"t":"word%d"}`, n%7, n%9, n, n%50)
	return item.Put{Item: mapping.Item{Namespace: walkSpace(n), Key: fmt.Sprint("k", n), Value: value}, Index: []byte(`["t","deep.n"]`)}
}

// fillWalk writes the items, creates their vectors and loads them with a search.
func (b *harness) fillWalk() {
	b.t.Helper()
	var list []item.Put
	for n := range walkItems {
		list = append(list, walkItem(n))
	}
	b.ok(b.Items.PutAll(b.ctx, list...))
	if n := b.embed(); n != walkItems {
		b.t.Fatalf("%d items became vectors", n)
	}
	b.scores(item.Query{Query: "query", Limit: 1})
}

// wantWalk checks by the number of filter calls whether the filter is applied only to the nearest items.
func (b *harness) wantWalk(want bool) {
	b.t.Helper()
	asked := 0
	keep := filtered(`{"k":{"$ne":3}}`)
	b.scores(item.Query{Query: "query", Limit: 10, Keep: func(value json.RawMessage) bool { asked++; return keep(value) }})
	if walked := asked < walkItems/2; walked != want {
		b.t.Errorf("the filter was called %d times", asked)
	}
}
