package item_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/embedding/embeddingtest"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// reaching returns the same database for a key limited to these namespaces.
func (b *harness) reaching(namespaces ...string) *harness {
	limited := *b
	who := mapping.Principal{ID: "limited", Namespaces: [][]string{}}
	for _, ns := range namespaces {
		who.Namespaces = append(who.Namespaces, strings.Split(ns, "/"))
	}
	limited.ctx = mapping.WithPrincipal(b.ctx, who)
	return &limited
}

// Searches of every kind find only items in and below the namespaces of a key, whatever is adjacent in table order.
// Other operations elsewhere are refused.
func TestKeysReachTheirNamespaces(t *testing.T) {
	t.Parallel()
	endpoint := embeddingtest.Serve(t, vectorDims)
	kept, read := indexOf(t, endpoint, "m"), indexOf(t, endpoint, "m")
	read.Cache = 0 // each search reads the vectors from the database
	for name, index := range map[string]*item.Index{"by words": nil, "by meaning": kept, "by meaning, from the database": read} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keysReachTheirNamespaces(t, store.Options{Index: index})
		})
	}
}

func keysReachTheirNamespaces(t *testing.T, opt store.Options) {
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t, opt)
		for _, ns := range []string{"a", "a/b", "a/b/c", "a!", "a%", "a_", "ab", "a/bc", "z", "z/y", "_", "%"} {
			b.put(ns, `{"text":"tea","n":1}`, strings.Split(ns, "/")...)
		}
		if opt.Index != nil {
			b.embed()
		}
		for name, c := range map[string]struct {
			reach  []string
			prefix string
			want   string
		}{
			"one":                  {[]string{"a"}, "", "a a/b a/b/c a/bc"},
			"deep":                 {[]string{"a/b"}, "", "a/b a/b/c"},
			"two":                  {[]string{"a/b", "z"}, "", "a/b a/b/c z z/y"},
			"nested":               {[]string{"a/b", "a", "a", "a/b"}, "", "a a/b a/b/c a/bc"},
			"above its own":        {[]string{"a/b", "z"}, "a", "a/b a/b/c"},
			"below its own":        {[]string{"a", "z"}, "a/b", "a/b a/b/c"},
			"elsewhere":            {[]string{"a/b"}, "z", ""},
			"beside":               {[]string{"a/b"}, "a/bc", ""},
			"signs of LIKE":        {[]string{"_"}, "", "_"},
			"another sign of LIKE": {[]string{"%"}, "", "%"},
			"none":                 {nil, "", ""},
		} {
			limited := b.reaching(c.reach...)
			q := item.Query{Limit: 100}
			if c.prefix != "" {
				q.Prefix = strings.Split(c.prefix, "/")
			}
			filtered, sorted, byText, both := q, q, q, q
			filtered.Keep = func(json.RawMessage) bool { return true }
			sorted.SortBy = mapping.SortByUpdated
			byText.Query = "tea"
			both.Query, both.Keep = "tea", filtered.Keep
			for kind, q := range map[string]item.Query{"listed": q, "filtered": filtered, "sorted": sorted, "by text": byText, "by text and filter": both} {
				got := limited.search(q)
				slices.Sort(got)
				if strings.Join(got, " ") != c.want {
					t.Errorf("%s, %s: %v, want %s", name, kind, got, c.want)
				}
			}
			spaces, err := limited.Items.Namespaces(limited.ctx, q.Prefix)
			b.ok(err)
			var told []string
			for _, ns := range spaces {
				told = append(told, strings.Join(ns, "/"))
			}
			if slices.Sort(told); strings.Join(told, " ") != c.want {
				t.Errorf("%s: namespaces %v, want %s", name, told, c.want)
			}
		}
	})
}

// A score reveals nothing about items that the key may not see.
func TestScoresDependOnlyOnReachableItems(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		b.put("k", `{"text":"tea and cake"}`, "mine")
		b.put("l", `{"text":"cake"}`, "mine")
		score := func(b *harness) (s string) {
			list, err := b.Items.List(b.ctx, item.Query{Query: "tea cake"})
			b.ok(err)
			for _, it := range list {
				s += fmt.Sprintf("%s %v ", it.Key, *it.Score)
			}
			return s
		}
		limited := b.reaching("mine")
		before := score(limited)
		for n := range 50 {
			b.put(fmt.Sprint(n), `{"text":"tea"}`, "theirs")
		}
		if after := score(limited); after != before || before == "" {
			t.Errorf("scored %s, then %s", before, after)
		}
	})
}

// A key changes nothing outside of its namespaces, even as part of several changes.
func TestNothingIsWrittenOutOfReach(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		b.put("k", `{"v":1}`, "theirs")
		limited := b.reaching("mine", "ours/x")
		itemAt := func(key string, value string, ns ...string) item.Put {
			return item.Put{Item: mapping.Item{Namespace: ns, Key: key, Value: []byte(value)}}
		}
		forbidden := func(what string, err error) {
			t.Helper()
			if e := mapping.Classify(err); err == nil || e.Class != mapping.Forbidden || !strings.Contains(e.Message, "mine, ours/x") {
				t.Errorf("%s: %v", what, err)
			}
		}
		forbidden("put", limited.Items.Put(limited.ctx, itemAt("k", `{"v":2}`, "theirs")))
		forbidden("put above", limited.Items.Put(limited.ctx, itemAt("k", `{"v":2}`, "ours")))
		forbidden("put several", limited.Items.PutAll(limited.ctx, itemAt("half", `{}`, "mine"), itemAt("k", `{}`, "theirs")))
		forbidden("delete", limited.Items.Delete(limited.ctx, []string{"theirs"}, "k"))
		_, err := limited.Items.Get(limited.ctx, []string{"theirs"}, "k", true)
		forbidden("read", err)
		b.ok(limited.Items.PutAll(limited.ctx, itemAt("a", `{"v":1}`, "mine", "deep"), itemAt("b", `{"v":1}`, "ours", "x"), item.Put{Item: mapping.Item{Namespace: []string{"mine"}, Key: "gone"}}))
		if got := strings.Join(b.search(item.Query{}), " "); got != "a b k" {
			t.Errorf("found %s", got)
		}
		if it, err := b.Items.Get(b.ctx, []string{"theirs"}, "k", false); err != nil || string(it.Value) != `{"v":1}` {
			t.Errorf("%s, %v", it.Value, err)
		}
	})
}
