package item_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/google/go-cmp/cmp"
)

func (b *harness) put(key, value string, ns ...string) {
	b.t.Helper()
	b.ok(b.Items.Put(b.ctx, item.Put{Item: mapping.Item{Namespace: ns, Key: key, Value: []byte(value)}}))
}

func (b *harness) search(q item.Query) (keys []string) {
	b.t.Helper()
	list, err := b.Items.List(b.ctx, q)
	b.ok(err)
	for _, it := range list {
		keys = append(keys, it.Key)
	}
	return keys
}

func TestPutGetAndDelete(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
		b := open(t, store.Options{Now: clock.now})
		b.put("k", `{"a": 1.0, "b":"\u0000"}`, "users", "u.1%2E")
		made := clock.at
		clock.at = clock.at.Add(time.Second)
		b.put("k", `{"a": 2.0}`, "users", "u.1%2E")
		it, err := b.Items.Get(b.ctx, []string{"users", "u.1%2E"}, "k", false)
		b.ok(err)
		want := mapping.Item{Namespace: []string{"users", "u.1%2E"}, Key: "k", Value: []byte(`{"a": 2.0}`), CreatedAt: made, UpdatedAt: clock.at}
		if d := cmp.Diff(want, it); d != "" {
			t.Fatal(d)
		}
		b.ok(b.Items.Delete(b.ctx, it.Namespace, "k"))
		b.ok(b.Items.Delete(b.ctx, it.Namespace, "k"))
		_, err = b.Items.Get(b.ctx, it.Namespace, "k", false)
		wantClass(t, err, mapping.NotFound, mapping.CodeItemNotFound)
	})
}

func TestItemSearch(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		b.put("1", `{"text":"the red fox"}`, "a")
		b.put("2", `{"text":"the blue fox"}`, "a", "b")
		b.put("3", `{"text":"a whale"}`, "a", "b", "c")
		b.put("4", `{"text":"Red Fox and blue fox"}`, "a!")
		b.put("5", `{"text":"nothing"}`, "ab")
		only := func(texts ...string) func(json.RawMessage) bool {
			return func(value json.RawMessage) bool {
				return slices.ContainsFunc(texts, func(text string) bool { return string(value) == `{"text":"`+text+`"}` })
			}
		}
		for name, c := range map[string]struct {
			q    item.Query
			want []string
		}{
			"all":              {item.Query{}, []string{"1", "4", "2", "3", "5"}},
			"prefix by label":  {item.Query{Prefix: []string{"a"}}, []string{"1", "2", "3"}},
			"deeper prefix":    {item.Query{Prefix: []string{"a", "b"}}, []string{"2", "3"}},
			"unknown prefix":   {item.Query{Prefix: []string{"z"}}, nil},
			"page":             {item.Query{Prefix: []string{"a"}, Limit: 1, Offset: 1}, []string{"2"}},
			"filter":           {item.Query{Keep: only("a whale", "nothing"), Limit: 1, Offset: 1}, []string{"5"}},
			"text, best first": {item.Query{Query: "blue fox red", Limit: 2}, []string{"4", "1"}},
			"text and filter":  {item.Query{Query: "fox", Keep: only("the blue fox", "a whale")}, []string{"2"}},
			"text, next page":  {item.Query{Query: "blue fox red", Limit: 2, Offset: 2}, []string{"2"}},
		} {
			if d := cmp.Diff(c.want, b.search(c.q)); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
		got, err := b.Items.Namespaces(b.ctx, []string{"a"})
		b.ok(err)
		if d := cmp.Diff([][]string{{"a"}, {"a", "b"}, {"a", "b", "c"}}, got); d != "" {
			t.Error(d)
		}
	})
}

func TestItemsExpire(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
		b := open(t, store.Options{Now: clock.now})
		b.ok(b.Items.Put(b.ctx, item.Put{Item: mapping.Item{Namespace: []string{"n"}, Key: "k", Value: []byte(`{}`)}, TTL: time.Minute}))
		clock.at = clock.at.Add(40 * time.Second)
		it, err := b.Items.Get(b.ctx, []string{"n"}, "k", true)
		b.ok(err)
		if want := clock.at.Add(time.Minute); !it.Expires.Equal(want) {
			t.Fatalf("expires %s, want %s", it.Expires, want)
		}
		clock.at = clock.at.Add(40 * time.Second)
		if keys := b.search(item.Query{RefreshTTL: true}); len(keys) != 1 {
			t.Fatal("a refreshed item is gone")
		}
		clock.at = clock.at.Add(50 * time.Second)
		if keys := b.search(item.Query{}); len(keys) != 1 {
			t.Fatal("the search did not refresh the item")
		}
		clock.at = clock.at.Add(20 * time.Second)
		if keys := b.search(item.Query{}); len(keys) != 0 {
			t.Fatal("an expired item is found")
		}
		if ns, _ := b.Items.Namespaces(b.ctx, nil); len(ns) != 0 {
			t.Fatal("an expired item has a namespace")
		}
		b.put("k", `{}`, "n")
		if it, err = b.Items.Get(b.ctx, []string{"n"}, "k", false); err != nil || !it.CreatedAt.Equal(clock.at) || !it.Expires.IsZero() {
			t.Fatalf("%+v %v", it, err)
		}
	})
}

// An expired item that was not removed yet does not exist for a writer of its key either.
func TestExpiredItemIsCreatedAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
		b := open(t, store.Options{Now: clock.now})
		brief := item.Put{Item: mapping.Item{Namespace: []string{"n"}, Key: "k", Value: []byte(`{}`)}, TTL: 100 * time.Millisecond}
		b.ok(b.Items.Put(b.ctx, brief))
		for _, step := range []struct {
			after time.Duration
			made  time.Duration // when the existing item was created
		}{{50 * time.Millisecond, 0}, {150 * time.Millisecond, 200 * time.Millisecond}, {10 * time.Second, 200 * time.Millisecond}} {
			clock.at = clock.at.Add(step.after)
			b.put("k", `{"again":true}`, "n")
			it, err := b.Items.Get(b.ctx, []string{"n"}, "k", false)
			if want := time.UnixMicro(1_700_000_000_000_000).Add(step.made); err != nil || !it.CreatedAt.Equal(want) || !it.Expires.IsZero() {
				t.Fatalf("%+v, %v; want creation time %v", it, err, want)
			}
			if step.after == 50*time.Millisecond {
				b.ok(b.Items.Put(b.ctx, brief))
			}
		}
	})
}

// LangGraph Server 0.12 and 0.13 treated _ and % in a namespace as SQL wildcards.
func TestNamespacesAreTakenLiterally(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		for _, label := range []string{"u_1", "ux1", "u%1", "uyy1", "_", "%", "%5F", "*"} {
			b.put(label, `{"n":1}`, label, "notes")
		}
		for _, label := range []string{"u_1", "u%1", "_", "%", "%5F", "*"} {
			if d := cmp.Diff([]string{label}, b.search(item.Query{Prefix: []string{label}})); d != "" {
				t.Errorf("search below %q: %s", label, d)
			}
			found, err := b.Items.Namespaces(b.ctx, []string{label})
			b.ok(err)
			if d := cmp.Diff([][]string{{label, "notes"}}, found); d != "" {
				t.Errorf("namespaces below %q: %s", label, d)
			}
		}
	})
}

func BenchmarkItems(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "b.db"), store.Options{Synchronous: "normal"})
	for i := range 10_000 {
		s.put(fmt.Sprint(i), fmt.Sprintf(`{"n":%d,"text":"some words about a thing"}`, i/100%10), "users", fmt.Sprint(i%100))
	}
	b.Run("put", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			s.put(fmt.Sprint(i%100), `{"n":1}`, "others", fmt.Sprint(i%100))
		}
	})
	b.Run("get", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			_, err := s.Items.Get(s.ctx, []string{"users", "1"}, "1", false)
			s.ok(err)
		}
	})
	b.Run("prefix and filter", func(b *testing.B) {
		filter, err := itemquery.ParseFilter([]byte(`{"n":5}`))
		s.ok(err)
		for b.Loop() {
			s.search(item.Query{Prefix: []string{"users", "7"}, Limit: 10, Keep: filter.Match})
		}
	})
}

func TestTextSearchUsesTheFieldsOfAnItem(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		for key, index := range map[string]string{"all": "", "title": `["title"]`, "none": "false"} {
			it := mapping.Item{Namespace: []string{"n"}, Key: key, Value: []byte(`{"title":"gr\u00fcn","body":{"text":"a red fox"}}`)}
			b.ok(b.Items.Put(b.ctx, item.Put{Item: it, Index: []byte(index)}))
		}
		for query, want := range map[string][]string{"": {"all", "none", "title"}, "grün": {"title", "all"}, "fox": {"all"}, "title": nil} {
			if d := cmp.Diff(want, b.search(item.Query{Prefix: []string{"n"}, Query: query})); d != "" {
				t.Errorf("%q: %s", query, d)
			}
		}
	})
}
