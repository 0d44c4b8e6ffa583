package item_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/mapping/vectorindex"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"github.com/google/go-cmp/cmp"
)

// alike makes vectors that rounding makes equal, or puts in another order: all are nearly the same, in the direction of
// the query, but for what is less than half a byte of their largest number. Some are equal.
type alike struct{ chance }

func (a alike) Query(ctx context.Context, text string) ([]float32, error) {
	v, err := a.chance.Query(ctx, text)
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	r := rand.New(rand.NewPCG(h.Sum64(), 2))
	for i := range v {
		v[i] = float32(r.IntN(3)) * 1e-4 * v[i]
	}
	v[0], v[1] = 1, 0.5
	vectorindex.Unit(v)
	return v, err
}

func (a alike) Documents(ctx context.Context, texts []string) (list [][]float32, err error) {
	return documents(ctx, a, texts)
}

// peaks makes vectors of one large number, beside which rounding leaves nothing of the others, which decide.
type peaks struct{ chance }

func (p peaks) Query(ctx context.Context, text string) ([]float32, error) {
	v, err := p.chance.Query(ctx, text)
	for i := range v {
		v[i] /= 200
	}
	if v[0] = 1; text == "query" {
		v[0] = 0
	}
	vectorindex.Unit(v)
	return v, err
}

func (p peaks) Documents(ctx context.Context, texts []string) (list [][]float32, err error) {
	return documents(ctx, p, texts)
}

func documents(ctx context.Context, e item.Embedder, texts []string) (list [][]float32, err error) {
	for _, text := range texts {
		v, err := e.Query(ctx, text)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// roundedQueries ask for the nearest alone, beside words, all, and past a filter.
func roundedQueries() map[string]item.Query {
	list := map[string]item.Query{}
	for _, words := range []string{"query", "word7"} {
		for name, q := range map[string]item.Query{
			"first": {Limit: 10}, "later": {Limit: 7, Offset: 35}, "all": {}, "below": {Limit: 10, Prefix: []string{"n", "of1"}},
			"by key": {Limit: 10, SortBy: mapping.SortByKey}, "nowhere": {Limit: 10, Prefix: []string{"no"}},
			"filter": {Limit: 10, Keep: filtered(`{"deep":{"k":{"$lt":4}}}`)},
		} {
			q.Query = words
			list[name+" "+words] = q
		}
	}
	return list
}

// What is found by rounded vectors, and the scores, are those of a comparison with all as they are, from memory and
// from the database: of vectors by chance, and of those that rounding confuses; after items were removed, written over,
// and added to rounded ones.
func TestRoundedVectorsFindWhatExactOnesFind(t *testing.T) {
	t.Parallel()
	blank.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		for name, embed := range map[string]item.Embedder{"chance": chance{24}, "alike": alike{chance{24}}, "peaks": peaks{chance{24}}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dsn := fresh(t)
				with := func(room int64, exact int) *harness {
					ix := &item.Index{Embed: embed, Dims: 24, Mark: "m", Cache: room, ExactMost: exact, Fields: []itemquery.ItemPath{{}}}
					return openAt(t, dsn, store.Options{Synchronous: "normal", Index: ix})
				}
				b := with(1<<20, 100)
				b.fillWalk()
				b.changeRounded()
				rounded := b.all()
				b.wantRounded(true)
				b.ok(b.Close())
				b = with(0, 0)
				b.wantAll(rounded, "the database")
				b.ok(b.Close())
				b = with(1<<20, 0)
				b.wantAll(rounded, "memory")
				b.wantRounded(false)
			})
		}
	})
}

func (b *harness) all() map[string][]string {
	b.t.Helper()
	found := map[string][]string{}
	for name, q := range roundedQueries() {
		found[name] = b.scores(q)
	}
	return found
}

func (b *harness) wantAll(want map[string][]string, of string) {
	b.t.Helper()
	if d := cmp.Diff(b.all(), want); d != "" {
		b.t.Errorf("(-%s +rounded)\n%s", of, d)
	}
}

// changeRounded changes items whose vectors are in memory, and adds some, of one vector and of more.
func (b *harness) changeRounded() {
	b.t.Helper()
	for n := range 60 {
		switch at := n * 21; n % 3 {
		case 0:
			b.ok(b.Items.Delete(b.ctx, walkSpace(at), fmt.Sprint("k", at)))
		case 1:
			changed := walkItem(at)
			changed.Item.Value = fmt.Appendf(nil, `{"k":%d,"deep":{"n":%d},"t":"word7 changed%d"}`, n, n, n)
			b.ok(b.Items.Put(b.ctx, changed))
		default:
			b.ok(b.Items.Put(b.ctx, item.Put{Index: []byte(`["list[*]"]`), Item: mapping.Item{Namespace: []string{"n"}, Key: fmt.Sprint("list", n),
				Value: fmt.Appendf(nil, `{"k":%d,"list":["a%d","b","c%d"]}`, n, n, n)}}))
		}
	}
	b.embed()
}

// wantRounded checks by its size whether memory has rounded vectors.
func (b *harness) wantRounded(want bool) {
	b.t.Helper()
	size := b.Items.VectorBytes()
	if exact := int64(walkItems * 2 * 24 * vectorindex.Size); size == 0 || (size < exact) != want {
		b.t.Errorf("%d bytes are kept; the numbers of exact vectors would be %d", size, exact)
	}
}

// A tenant whose vectors do not fit as they are has them rounded, and one whose rounded ones do not, none.
func TestVectorsAreRoundedWhereTheyDoNotFit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		for room, most := range map[int64]int64{math.MaxInt64: 1 << 20, 350_000: 350_000, 100_000: 0} {
			ix := &item.Index{Embed: chance{64}, Dims: 64, Mark: "m", Cache: room, Fields: []itemquery.ItemPath{{}}}
			b := open(t, store.Options{Synchronous: "normal", Index: ix})
			b.fillWalk()
			if n := b.Items.VectorBytes(); n > most || n < most/2 {
				t.Errorf("of %d bytes %d are taken", room, n)
			}
			b.wantMeaning(item.Query{Query: `word7`, Limit: 1, Keep: func(value json.RawMessage) bool { return len(value) == 40 }}, "k7")
		}
	})
}
