package item_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/embedding"
	"github.com/apbridge/apbridge/proxy/embedding/embeddingtest"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

const vectorDims = 32

// indexOf returns an index over a scripted endpoint, for whole values or these fields.
func indexOf(t testing.TB, e *embeddingtest.Endpoint, mark string, fields ...string) *item.Index {
	t.Helper()
	cfg := config.Default().Store.Index
	cfg.Dims, cfg.Embed, cfg.URL, cfg.Timeout = vectorDims, "openai:m", e.URL, time.Minute
	c := embedding.New(cfg, "apbridge/test", zap.NewNop())
	t.Cleanup(c.CloseIdle)
	ix := &item.Index{Embed: c, Dims: vectorDims, Mark: mark, Cache: 1 << 20}
	if len(fields) == 0 {
		ix.Fields = []itemquery.ItemPath{{}}
	}
	for _, f := range fields {
		path, err := itemquery.ParseItemPath(f)
		if err != nil {
			t.Fatal(err)
		}
		ix.Fields = append(ix.Fields, path)
	}
	return ix
}

// embed creates all missing vectors and returns the number of items that got some.
func (b *harness) embed() (all int) {
	b.t.Helper()
	for {
		n, aside, err := b.ItemMaintenance.Embed(b.ctx)
		b.ok(err)
		if len(aside) > 0 {
			b.t.Errorf("set aside: %+v", aside)
		}
		if all += n; n == 0 {
			return all
		}
	}
}

// meaning returns the keys that a query finds, and whether a loss was reported.
func (b *harness) meaning(q item.Query) (keys []string, lost bool) {
	b.t.Helper()
	q.Lost = func(l mapping.Loss) {
		if l != (mapping.Loss{Field: "query", Fate: mapping.Approximated}) {
			b.t.Errorf("lost %+v", l)
		}
		lost = true
	}
	return b.search(q), lost
}

func (b *harness) wantMeaning(q item.Query, want ...string) {
	b.t.Helper()
	got, lost := b.meaning(q)
	if d := cmp.Diff(want, got); d != "" || lost {
		b.t.Errorf("%q finds, words only: %v\n%s", q.Query, lost, d)
	}
}

// Items are found by meaning, for the right tenant, below the prefix and with the filter, best first. Items that also
// have the words come first.
func TestItemsAreFoundByMeaning(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		e := embeddingtest.Serve(t, vectorDims)
		b := open(t, store.Options{Synchronous: "normal", Index: indexOf(t, e, "m")})
		b.put("kitten", `{"text":"a kitten that purrs","kind":1}`, "pets", "small")
		b.put("feline", `{"text":"feline whiskers","kind":2}`, "pets")
		b.put("truck", `{"text":"the truck drives","kind":1}`, "pets")
		b.put("elsewhere", `{"text":"cat cat cat"}`, "petshop")
		b.as("other").put("theirs", `{"text":"cat"}`, "pets")
		query := item.Query{Prefix: []string{"pets"}, Query: "cat", Limit: 2}
		if got, lost := b.meaning(query); !lost || got != nil {
			t.Errorf("without vectors: found %v, words only: %v", got, lost)
		}
		if n := b.embed(); n != 5 {
			t.Errorf("%d items became vectors", n)
		}
		b.wantMeaning(query, "feline", "kitten")
		query.Limit = 0
		b.wantMeaning(query, "feline", "kitten", "truck")
		query.Offset, query.Limit = 1, 1
		b.wantMeaning(query, "kitten")
		query.Offset, query.Limit = 0, 1
		query.Keep = func(value json.RawMessage) bool { return strings.Contains(string(value), `"kind":1`) }
		b.wantMeaning(query, "kitten")
		query.Keep = func(value json.RawMessage) bool {
			return strings.Contains(string(value), `"truck`) || strings.Contains(string(value), "drives")
		}
		b.wantMeaning(query, "truck")
		b.wantMeaning(item.Query{Prefix: []string{"pets"}, Query: "truck cat", Limit: 1}, "truck")
		b.wantMeaning(item.Query{Prefix: []string{"pets"}, Query: "cat", SortBy: mapping.SortByKey, Asc: true, Limit: 2}, "feline", "kitten")
		b.as("other").wantMeaning(item.Query{Query: "kitten"}, "theirs")
		b.wantMeaning(item.Query{Query: " \t"})
		list, err := b.Items.List(b.ctx, item.Query{Query: "truck cat"})
		b.ok(err)
		for i, it := range list {
			if it.Score == nil || *it.Score <= 0 || *it.Score > 1 || i > 0 && *it.Score > *list[i-1].Score {
				t.Errorf("item %d of %d has score %v", i, len(list), it.Score)
			}
		}
	})
}

// Items that were overwritten, excluded from the index, deleted or have expired are not found by their old meaning.
func TestVectorsFollowTheirItems(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		e := embeddingtest.Serve(t, vectorDims)
		clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
		b := open(t, store.Options{Synchronous: "normal", Index: indexOf(t, e, "m"), Now: clock.now})
		pass := func() { clock.at = clock.at.Add(time.Second) }
		cats := func(want ...string) {
			t.Helper()
			b.wantMeaning(item.Query{Query: "cat", Limit: 10}, want...)
		}
		put := func(key, value, index string, ttl time.Duration) {
			t.Helper()
			it := mapping.Item{Namespace: []string{"n"}, Key: key, Value: []byte(value)}
			b.ok(b.Items.Put(b.ctx, item.Put{Item: it, TTL: ttl, Index: []byte(index)}))
			pass()
		}
		put("a", `{"t":"kitten"}`, "", 0)
		put("b", `{"t":"kitten feline"}`, "", time.Minute)
		b.embed()
		cats("b", "a")
		put("a", `{"t":"truck"}`, "", 0)
		cats("b") // "a" has no vector for its present value
		b.embed()
		cats("b", "a")
		put("a", `{"t":"kitten"}`, "false", 0)
		b.embed()
		cats("b")
		put("a", `{"t":"truck","u":["kitten","rain"]}`, `["u[*]"]`, 0)
		put("c", `{"t":" ","u":null}`, `["t","u","v"]`, 0)
		b.embed()
		cats("a", "b") // only by "kitten"
		clock.at = clock.at.Add(time.Minute)
		cats("a")
		b.ok(b.Items.Delete(b.ctx, []string{"n"}, "a"))
		cats()
		_, err := b.ItemMaintenance.Sweep(b.ctx)
		b.ok(err)
		if n, err := b.Items.VectorRows(b.ctx); err != nil || n != 1 { // the row of c, which has no vectors
			t.Errorf("%d rows, %v", n, err)
		}
		put("a", `{"t":"storm"}`, "", 0)
		put("b", `{"t":"kitten"}`, "", 0)
		cats()
		b.embed()
		cats("b", "a")
	})
}

// An item counts once, by the best of its vectors. Even if it has many, it displaces no other item.
func TestItemsOfManyVectors(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		e := embeddingtest.Serve(t, vectorDims)
		b := open(t, store.Options{Synchronous: "normal", Index: indexOf(t, e, "m", "list[*]")})
		for n := range 12 {
			b.put(fmt.Sprintf("many%02d", n), `{"list":["rain"`+strings.Repeat(`,"cat kitten"`, 200)+`]}`, "n")
		}
		b.put("one", `{"list":["tea","kitten"]}`, "n")
		b.put("none", `{"list":[]}`, "n")
		if n := b.embed(); n != 14 {
			t.Errorf("%d items", n)
		}
		got, _ := b.meaning(item.Query{Query: "feline", Limit: 20})
		if len(got) != 13 || got[12] == "none" {
			t.Errorf("found %v", got)
		}
		got, _ = b.meaning(item.Query{Query: "storm", Limit: 12})
		if len(got) != 12 {
			t.Errorf("found %v", got)
		}
	})
}

// If the endpoint fails, no item gets part of its vectors, and searches find items by words and report that. Once it
// works again, the items get vectors.
func TestAnEndpointThatIsDown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		e := embeddingtest.Serve(t, vectorDims)
		b := open(t, store.Options{Synchronous: "normal", Index: indexOf(t, e, "m")})
		b.put("a", `{"t":"kitten"}`, "n")
		e.Refuse(func(w http.ResponseWriter, _ embeddingtest.Request) bool {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		})
		if n, aside, err := b.ItemMaintenance.Embed(b.ctx); err == nil || n != 0 || aside != nil {
			t.Errorf("%d items, %v, %v", n, aside, err)
		}
		if got, lost := b.meaning(item.Query{Query: "kitten"}); !lost || !cmp.Equal(got, []string{"a"}) {
			t.Errorf("found %v, words only: %v", got, lost)
		}
		e.Refuse(nil)
		if n := b.embed(); n != 1 {
			t.Errorf("%d items", n)
		}
		gone, stop := context.WithCancel(b.ctx)
		stop()
		if _, err := b.Items.List(gone, item.Query{Query: "something else"}); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled search: %v", err)
		}
	})
}

// Without an index a query is answered by words and reports that.
func TestQueriesWithoutAnIndex(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		b.put("a", `{"t":"kitten"}`, "n")
		if n := b.embed(); n != 0 || b.Items.Embeds() {
			t.Errorf("%d items became vectors", n)
		}
		if got, lost := b.meaning(item.Query{Query: "kitten"}); !lost || !cmp.Equal(got, []string{"a"}) {
			t.Errorf("found %v, words only: %v", got, lost)
		}
	})
}

// For another model or other fields all vectors are rebuilt. Until then searches use words only.
func TestVectorsAreRebuiltForAnotherIndex(t *testing.T) {
	t.Parallel()
	blank.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		e, dsn := embeddingtest.Serve(t, vectorDims), fresh(t)
		b := openAt(t, dsn, store.Options{Index: indexOf(t, e, "m1", "a")})
		for n := range 300 {
			b.put(fmt.Sprintf("k%d", n), `{"a":"truck","b":"rain"}`, "n")
		}
		b.put("cat", `{"a":"truck","b":"kitten"}`, "n")
		b.put("never", `{"c":"x"}`, "n")
		if n := b.embed(); n != 302 {
			t.Fatalf("%d items", n)
		}
		b.ok(b.Close())
		b = openAt(t, dsn, store.Options{Index: indexOf(t, e, "m2", "b", "c")})
		if got, lost := b.meaning(item.Query{Query: "cat"}); !lost || len(got) != 0 {
			t.Errorf("found %v, words only: %v", got, lost)
		}
		if n := b.embed(); n != 302 {
			t.Errorf("%d items", n)
		}
		b.wantMeaning(item.Query{Query: "feline", Limit: 1}, "cat")
		if got, _ := b.meaning(item.Query{Query: "cat"}); len(got) != 302 {
			t.Errorf("found %d items", len(got))
		}
		if n := b.embed(); n != 0 {
			t.Errorf("%d items again", n)
		}
	})
}

// With memory for no vectors, or only for those of one tenant, searches find the same.
func TestUncachedVectors(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		e := embeddingtest.Serve(t, vectorDims)
		for _, room := range []int64{0, 12_000, 1 << 20} {
			ix := indexOf(t, e, "m")
			ix.Cache = room
			b := open(t, store.Options{Synchronous: "normal", Index: ix})
			tenants := []*harness{b, b.as("one"), b.as("two")}
			for n, who := range tenants {
				for i := range 10 + 10*n {
					who.put(fmt.Sprintf("k%d", i), `{"t":"rain"}`, "n")
				}
				who.put("cat", `{"t":"kitten"}`, "n", "deep")
			}
			b.embed()
			for round := range 3 {
				for n, who := range tenants {
					who.wantMeaning(item.Query{Query: "feline", Limit: 1}, "cat")
					who.wantMeaning(item.Query{Query: "feline", Prefix: []string{"n", "deep"}}, "cat")
					if got, _ := who.meaning(item.Query{Query: "feline"}); len(got) != 11+10*n+round {
						t.Errorf("room %d: tenant %d finds %d items in round %d", room, n, len(got), round)
					}
					who.put(fmt.Sprintf("more%d", round), `{"t":"tea"}`, "n")
				}
				b.embed()
				if n := b.Items.VectorBytes(); n > room || room > 1<<19 && n == 0 {
					t.Errorf("%d bytes cached, want at most %d", n, room)
				}
			}
		}
	})
}

// One of several processes creates the vectors, and all of them can use them at once.
func TestVectorsAreSharedByProcesses(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	e := embeddingtest.Serve(t, vectorDims)
	a := openAt(t, dsn, store.Options{Index: indexOf(t, e, "m"), Owner: "a"})
	b := openAt(t, dsn, store.Options{Index: indexOf(t, e, "m"), Owner: "b"})
	other := openAt(t, dsn, store.Options{Index: indexOf(t, e, "another model"), Owner: "other"})
	for _, p := range []*harness{a, b, other} {
		p.ok(p.Beat(p.ctx, time.Minute))
	}
	a.put("one", `{"t":"kitten"}`, "n")
	if n := a.embed(); n != 1 {
		t.Errorf("%d items", n)
	}
	b.wantMeaning(item.Query{Query: "cat"}, "one")
	b.put("two", `{"t":"cat feline"}`, "n")
	if n := b.embed() + other.embed(); n != 0 {
		t.Errorf("%d items by processes that do not own the index", n)
	}
	if n := a.embed(); n != 1 {
		t.Errorf("%d items", n)
	}
	b.wantMeaning(item.Query{Query: "feline"}, "two", "one")
	if got, lost := other.meaning(item.Query{Query: "kitten"}); !lost || !cmp.Equal(got, []string{"one"}) {
		t.Errorf("with another model: found %v, words only: %v", got, lost)
	}
	a.put("three", `{"t":"rain"}`, "n")
	a.ok(a.Close())
	if n := b.embed(); n != 1 {
		t.Errorf("%d items after the owner has ended", n)
	}
}
