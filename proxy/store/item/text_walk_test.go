package item_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/mapping/textindex"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	gocmp "github.com/google/go-cmp/cmp"
)

// commonItems is more than walkedOfToken, so that not all are read.
const commonItems = 4200

// commonItem has a word that all items have, more or less often, and members without an index.
func commonItem(n int) item.Put {
	words := "common"
	for range n * 7919 % 5 {
		words += " other"
	}
	if n%50 == 0 {
		words += " rare"
	}
	return item.Put{Index: []byte(`["t"]`), Item: mapping.Item{Namespace: []string{"c", fmt.Sprint("of", n%2)}, Key: fmt.Sprintf("k%05d", n),
		Value: fmt.Appendf(nil, `{"t":%q,"deep":{"k":%d,"n":%d}}`, words, n%9, n)}}
}

// byHand returns the expected results of a search by text, following docs/store.md.
func byHand(list []item.Put, q item.Query) (names []string) {
	tokens := textindex.Query(q.Query)
	corpus := textindex.Corpus{Texts: len(list), Found: map[string]int{}}
	type one struct {
		name  string
		bag   textindex.Bag
		count map[string]int
		score float64
		found bool
	}
	var all []*one
	for _, p := range list {
		o := &one{name: fmt.Sprint(p.Item.Namespace, p.Item.Key), bag: textindex.NewBag(itemquery.ItemTexts(p.Item.Value, p.Index)), count: map[string]int{}}
		for token, n := range o.bag.Counts() {
			o.count[token] = n
			corpus.Found[token]++
		}
		if q.Keep(p.Item.Value) {
			all = append(all, o)
		}
	}
	slices.SortStableFunc(tokens, func(a, b string) int { return corpus.Found[a] - corpus.Found[b] })
	var found []*one
	for _, token := range tokens {
		slices.SortFunc(all, func(a, b *one) int {
			return cmp.Or(b.count[token]*1_000_000/b.bag.Words()-a.count[token]*1_000_000/a.bag.Words(), cmp.Compare(a.name, b.name))
		})
		for _, o := range all {
			if o.count[token] > 0 && len(found) < 1000 && !o.found {
				o.found, found = true, append(found, o)
			}
		}
	}
	bags := make([]textindex.Bag, len(found))
	for i, o := range found {
		bags[i] = o.bag
	}
	for i, score := range corpus.Rank(tokens, bags) {
		found[i].score = score
	}
	slices.SortFunc(found, func(a, b *one) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.name, b.name)) })
	for _, o := range found {
		names = append(names, fmt.Sprint(o.name, o.score))
	}
	return names[min(q.Offset, len(names)):min(q.Offset+q.Limit, len(names))]
}

// A word that all items have, combined with filters without an index, finds the items with the largest share of it,
// whether many of them pass, too few of the first, few at all, or none.
func TestACommonWordUnderAFilter(t *testing.T) {
	t.Parallel()
	blank.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		b := openAt(t, fresh(t), walkOptions(0))
		var list []item.Put
		for n := range commonItems {
			list = append(list, commonItem(n))
		}
		b.ok(b.Items.PutAll(b.ctx, list...))
		for _, filter := range []string{`{"deep":{"k":{"$ne":3}}}`, `{"deep":{"k":{"$lt":2}}}`, `{"deep":{"n":{"$gt":4190}}}`, `{"deep":{"n":{"$gte":2500}}}`, `{"deep":{"n":-1}}`} {
			for _, words := range []string{"common", "common rare", "other common"} {
				f, err := itemquery.ParseFilter(json.RawMessage(filter))
				b.ok(err)
				q := item.Query{Prefix: []string{"c"}, Query: words, Keep: f.Match, Members: f.Members(), Offset: 5, Limit: 400}
				if d := gocmp.Diff(byHand(list, q), b.scores(q)); d != "" {
					t.Errorf("%s under %s (-by hand +found)\n%s", words, filter, d)
				}
			}
		}
	})
}
