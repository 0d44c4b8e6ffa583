package item_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/mapping/vectorindex"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// chance computes pseudo-random vectors without delay, always the same for the same text.
type chance struct{ dims int }

func (c chance) Query(_ context.Context, text string) ([]float32, error) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	v := make([]float32, c.dims)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	vectorindex.Unit(v)
	return v, nil
}

func (c chance) Documents(ctx context.Context, texts []string) (list [][]float32, refused, err error) {
	for _, text := range texts {
		v, err := c.Query(ctx, text)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, v)
	}
	return list, nil, nil
}

// BenchmarkMeaning searches up to 100,000 items of 384 numbers: all of them, below a prefix, with a filter, and from
// the database.
func BenchmarkMeaning(b *testing.B) {
	for _, items := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(items), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "b.db")
			ix := &item.Index{Embed: chance{384}, Dims: 384, Mark: "m", Cache: 256 << 20, Fields: []itemquery.ItemPath{{}}}
			s := openAt(b, path, store.Options{Synchronous: "normal", Index: ix})
			fillMeaning(s, items)
			keep := func(value json.RawMessage) bool { return len(value)%2 == 0 }
			most := func(value json.RawMessage) bool { return !bytes.Contains(value, []byte(`77,`)) }
			rare := func(value json.RawMessage) bool { return bytes.Contains(value, []byte(`77,`)) }
			for name, q := range map[string]item.Query{
				"all": {Query: "query"}, "words": {Query: "something to remember"}, "prefix": {Query: "query", Prefix: []string{"users", "u7"}},
				"filter": {Query: "query", Keep: keep}, "filter that few pass": {Query: "query", Keep: rare}, "filter and words": {Query: "remember", Keep: keep},
				"filter that most pass and words": {Query: "something to remember", Keep: most},
				"filter and a word":               {Query: "unique000007", Keep: keep},
			} {
				q.Limit = 10
				b.Run(name, func(b *testing.B) { s.benchMeaning(b, q) })
			}
			b.Run("database", func(b *testing.B) {
				b.StopTimer()
				s.ok(s.Close())
				small := *ix
				small.Cache = 0
				s = openAt(b, path, store.Options{Synchronous: "normal", Index: &small})
				b.StartTimer()
				s.benchMeaning(b, item.Query{Query: "query", Limit: 10})
			})
		})
	}
}

func (s *harness) benchMeaning(b *testing.B, q item.Query) {
	_, err := s.Items.List(s.ctx, q) // loads the vectors
	s.ok(err)
	defer storetest.CPU(b)()
	for b.Loop() {
		found, err := s.Items.List(s.ctx, q)
		if err != nil || len(found) != 10 {
			b.Fatalf("%d items, %v", len(found), err)
		}
	}
}

func fillMeaning(s *harness, items int) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := next.Add(1); int(i) <= items; i = next.Add(1) {
				it := mapping.Item{Namespace: []string{"users", fmt.Sprintf("u%d", i%1000)}, Key: fmt.Sprintf("k%d", i),
					Value: []byte(fmt.Sprintf(`{"n":%d,"text":"something to remember about a user, of some length, unique%06d"}`, i, i/10))}
				s.ok(s.Items.Put(s.ctx, item.Put{Item: it}))
			}
		})
	}
	wg.Wait()
	s.embed()
}
