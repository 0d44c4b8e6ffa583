package item_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
)

// Both databases return the same results and scores.
func TestTextSearchIsTheSameOnBothDatabases(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		b.put("whale", `{"text":"The whale, the sea: 42% blue"}`, "a")
		b.put("fox", `{"text":"Fox & fox (red)"}`, "a", "b")
		b.put("long", `{"text":"a fox in a long text about `+strings.Repeat("other things ", 20)+`"}`, "a", "b")
		b.put("cat", `{"text":"黒い猫がいる"}`, "a")
		b.put("elsewhere", `{"text":"fox fox fox fox"}`, "ab")
		b.put("none", `{"n":null,"deep":[{}, true]}`, "a")
		b.as("other").put("theirs", `{"text":"fox whale"}`, "a")
		for query, want := range map[string][]string{
			"fox":                            {"fox", "long"},
			"FOX!":                           {"fox", "long"},
			"the red fox":                    {"fox", "whale", "long"},
			"ｗｈａｌｅ":                          {"whale"},
			"猫":                              {"cat"},
			"黒い":                             {"cat"},
			"犬":                              nil,
			"42":                             {"whale"},
			"wha":                            nil,
			"%":                              nil,
			"\u0000":                         nil,
			"' OR 1=1 -- \" fox* NEAR(sea) ": {"whale", "fox", "long"},
			strings.Repeat("x ", 100_000):    nil,
		} {
			if d := cmp.Diff(want, b.search(item.Query{Prefix: []string{"a"}, Query: query})); d != "" {
				t.Errorf("%.40q: %s", query, d)
			}
		}
		list, err := b.Items.List(b.ctx, item.Query{Prefix: []string{"a"}, Query: "red fox"})
		b.ok(err)
		scores := ""
		for _, it := range list {
			scores += fmt.Sprintf("%s %.4f ", it.Key, *it.Score)
		}
		if want := "fox 0.7542 long 0.1221 "; scores != want {
			t.Errorf("scores %q, want %q", scores, want)
		}
	})
}

// Overwritten, expired and deleted items are not found by their old words.
func TestTextSearchFollowsItsItems(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
		b := open(t, store.Options{Now: clock.now})
		found := func(query string, want ...string) {
			t.Helper()
			if d := cmp.Diff(want, b.search(item.Query{Query: query})); d != "" {
				t.Errorf("%q: %s", query, d)
			}
		}
		b.put("k", `{"text":"one two"}`, "n")
		b.put("k", `{"text":"two three"}`, "n")
		found("one")
		found("two", "k")
		found("three", "k")
		b.ok(b.Items.Put(b.ctx, item.Put{Item: mapping.Item{Namespace: []string{"n"}, Key: "k", Value: []byte(`{"text":"two"}`)}, Index: []byte("false")}))
		found("two")
		b.ok(b.Items.Delete(b.ctx, []string{"n"}, "k"))
		brief := mapping.Item{Namespace: []string{"n"}, Key: "brief", Value: []byte(`{"text":"two"}`)}
		b.ok(b.Items.Put(b.ctx, item.Put{Item: brief, TTL: time.Minute}))
		found("two", "brief")
		clock.at = clock.at.Add(2 * time.Minute)
		found("two")
		more, err := b.ItemMaintenance.Sweep(b.ctx)
		b.ok(err)
		if n := b.tokensLeft(); more || n != 0 {
			t.Errorf("%d tokens are left, more %v", n, more)
		}
	})
}

// The filter is applied before scoring, regardless of the number of other items with the word.
func TestTextSearchFiltersBeforeItScores(t *testing.T) {
	t.Parallel()
	b := openAt(t, filepath.Join(t.TempDir(), "a.db"), store.Options{Synchronous: "normal"})
	for n := range 1500 {
		b.put(fmt.Sprintf("%04d", n), fmt.Sprintf(`{"text":"word word word","rare":%v}`, n == 1400), "n", fmt.Sprint(n%2))
	}
	b.put("last", `{"text":"a word in some others, and seldom","rare":true}`, "n", "1")
	filter, err := itemquery.ParseFilter(json.RawMessage(`{"rare":true}`))
	b.ok(err)
	if d := cmp.Diff([]string{"1400", "last"}, b.search(item.Query{Query: "word", Keep: filter.Match, Limit: 10})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"last"}, b.search(item.Query{Query: "seldom word", Limit: 1})); d != "" {
		t.Error(d)
	}
	if n := len(b.search(item.Query{Query: "word"})); n != 1000 {
		t.Errorf("%d items were scored", n)
	}
}

// If more items than a search reads have the same share of the word, those with the first names are found, regardless
// of the order of writing.
func TestTextSearchSelectsTheSameOfManyEqualItems(t *testing.T) {
	t.Parallel()
	const items, scored = 4500, 1000
	all, err := itemquery.ParseFilter(json.RawMessage(`{"text":"a word"}`))
	if err != nil {
		t.Fatal(err)
	}
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		order := rand.New(rand.NewPCG(1, 2)).Perm(items)
		var writers errgroup.Group
		writers.SetLimit(8)
		for _, n := range order {
			writers.Go(func() error {
				it := mapping.Item{Namespace: []string{fmt.Sprintf("n%04d", n)}, Key: fmt.Sprint(n), Value: []byte(`{"text":"a word"}`)}
				return b.Items.Put(b.ctx, item.Put{Item: it})
			})
		}
		b.ok(writers.Wait())
		var want []string
		for n := range scored {
			want = append(want, fmt.Sprint(n))
		}
		for name, keep := range map[string]func(json.RawMessage) bool{"all": nil, "filtered": all.Match} {
			if d := cmp.Diff(want, b.search(item.Query{Query: "word", Keep: keep})); d != "" {
				t.Errorf("%s: %.400s", name, d)
			}
		}
	})
}

// Live items are found regardless of the number of expired ones that have not been removed yet.
func TestTextSearchFindsLiveItemsAmongExpiredOnes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
		b := open(t, store.Options{Synchronous: "normal", Now: clock.now})
		put := func(key, value string, ttl time.Duration) error {
			it := mapping.Item{Namespace: []string{"n"}, Key: key, Value: []byte(value)}
			return b.Items.Put(b.ctx, item.Put{Item: it, TTL: ttl})
		}
		var writers errgroup.Group
		writers.SetLimit(8)
		for n := range 4100 {
			writers.Go(func() error { return put(fmt.Sprint(n), `{"text":"word"}`, time.Minute) })
		}
		b.ok(writers.Wait())
		b.ok(put("one", `{"text":"a word"}`, 0))
		b.ok(put("other", `{"text":"a word and others"}`, 0))
		clock.at = clock.at.Add(time.Hour)
		if d := cmp.Diff([]string{"one", "other"}, b.search(item.Query{Query: "word"})); d != "" {
			t.Error(d)
		}
	})
}

// Items of an older version are found once they have tokens. Items written in the meantime keep their new value.
func TestOlderItemsGetTheirTokens(t *testing.T) {
	t.Parallel()
	b := openAt(t, filepath.Join(t.TempDir(), "old.db"), store.Options{})
	for n := range 450 {
		b.put(fmt.Sprintf("%03d", n), `{"text":"an old word"}`, "n")
	}
	b.ok(b.Items.Exec(b.ctx, `UPDATE items SET tokens = NULL, members = NULL, members_us = 0`, `DELETE FROM item_tokens`, `DELETE FROM item_members`))
	if keys := b.search(item.Query{Query: "old"}); len(keys) != 0 {
		t.Fatalf("found %v", keys)
	}
	b.put("449", `{"text":"a new word"}`, "n")
	var batches []int
	for n := 1; n > 0; {
		var err error
		n, err = b.ItemMaintenance.Reindex(b.ctx)
		b.ok(err)
		batches = append(batches, n)
	}
	if d := cmp.Diff([]int{200, 200, 49, 0}, batches); d != "" {
		t.Error(d)
	}
	if old, fresh := b.search(item.Query{Query: "old"}), b.search(item.Query{Query: "new"}); len(old) != 449 || len(fresh) != 1 {
		t.Errorf("%d and %d found", len(old), len(fresh))
	}
}

// Searches of every kind restart the time to live of the items they find, and of no others.
func TestSearchesRefreshFoundItems(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		filter, err := itemquery.ParseFilter(json.RawMessage(`{"text":"tea"}`))
		if err != nil {
			t.Fatal(err)
		}
		for name, q := range map[string]item.Query{
			"by prefix": {Prefix: []string{"n"}}, "by text": {Query: "tea"}, "by filter": {Keep: filter.Match}, "sorted": {SortBy: mapping.SortByCreated, Asc: true, Limit: 1},
			"an empty page": {Limit: 1, Offset: 1, Prefix: []string{"n"}},
		} {
			clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
			b := open(t, store.Options{Now: clock.now})
			for _, it := range []mapping.Item{{Namespace: []string{"n"}, Key: "found", Value: []byte(`{"text":"tea"}`)}, {Namespace: []string{"m"}, Key: "other", Value: []byte(`{"text":"water"}`)}} {
				b.ok(b.Items.Put(b.ctx, item.Put{Item: it, TTL: time.Minute}))
				clock.at = clock.at.Add(time.Second)
			}
			clock.at = clock.at.Add(50 * time.Second)
			q.RefreshTTL = true
			left := strings.Join(b.search(q), " ")
			if (left == "found") == (name == "an empty page") {
				t.Errorf("%s: found %q", name, left)
			}
			clock.at = clock.at.Add(20 * time.Second)
			if got := strings.Join(b.search(item.Query{}), " "); got != left {
				t.Errorf("%s: %q left, want %q", name, got, left)
			}
			b.ok(b.Items.Delete(b.ctx, []string{"n"}, "found"))
		}
	})
}

// tokensLeft returns the number of rows of tokens, since a search does not find rows without an item.
func (b *harness) tokensLeft() (n int) {
	b.t.Helper()
	n, err := b.Items.TokenRows(b.ctx)
	b.ok(err)
	return n
}

func TestItemsAreSorted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
		b := open(t, store.Options{Now: clock.now})
		for _, key := range []string{"b", "c", "a", "d", "b"} { // b is written twice
			clock.at = clock.at.Add(time.Second)
			b.put(key, map[bool]string{true: `{"text":"tea, odd","odd":true}`, false: `{"text":"tea"}`}[key == "a" || key == "c"], "n", key)
		}
		filter, err := itemquery.ParseFilter(json.RawMessage(`{"odd":true}`))
		b.ok(err)
		for name, c := range map[string]struct {
			q    item.Query
			want string
		}{
			"made last":            {item.Query{SortBy: mapping.SortByCreated}, "d a c b"},
			"made first":           {item.Query{SortBy: mapping.SortByCreated, Asc: true}, "b c a d"},
			"changed last":         {item.Query{SortBy: mapping.SortByUpdated}, "b d a c"},
			"by key":               {item.Query{SortBy: mapping.SortByKey, Asc: true}, "a b c d"},
			"by key, backwards":    {item.Query{SortBy: mapping.SortByKey}, "d c b a"},
			"a page":               {item.Query{SortBy: mapping.SortByUpdated, Limit: 1, Offset: 1}, "d"},
			"a page behind all":    {item.Query{SortBy: mapping.SortByUpdated, Limit: 1, Offset: 9}, ""},
			"with a filter":        {item.Query{SortBy: mapping.SortByCreated, Keep: filter.Match, Limit: 9}, "a c"},
			"of a prefix":          {item.Query{SortBy: mapping.SortByCreated, Prefix: []string{"n", "c"}}, "c"},
			"found by text":        {item.Query{SortBy: mapping.SortByCreated, Query: "tea"}, "d a c b"},
			"the worst first":      {item.Query{SortBy: mapping.SortByScore, Asc: true, Query: "tea odd"}, "b d a c"},
			"the best first again": {item.Query{SortBy: mapping.SortByScore, Query: "tea odd", Limit: 3}, "a c b"},
		} {
			if got := strings.Join(b.search(c.q), " "); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
		if list, err := b.Items.List(b.ctx, item.Query{SortBy: mapping.SortByKey, Limit: 1}); err != nil || list[0].Score != nil || len(list[0].Value) == 0 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// Items with the same time are ordered by namespace and key, so that pages contain each of them once.
func TestPagesOfItemsWithEqualTimes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		var list []item.Put
		var want []string
		for n := range 40 {
			key := fmt.Sprintf("k%02d", n)
			want = append(want, key)
			list = append(list, item.Put{Item: mapping.Item{Namespace: []string{"n"}, Key: key, Value: fmt.Appendf(nil, `{"n":%d,"odd":%v}`, n, n%2 == 1)}})
		}
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		b.ok(b.Items.PutAll(b.ctx, list...))
		for _, asc := range []bool{false, true} {
			for name, keep := range map[string]func(json.RawMessage) bool{"all": nil, "filtered": func(json.RawMessage) bool { return true }} {
				var got []string
				for q := (item.Query{SortBy: mapping.SortByUpdated, Asc: asc, Keep: keep, Limit: 7}); q.Offset < len(list); q.Offset += q.Limit {
					got = append(got, b.search(q)...)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s, ascending %v:\n%s", name, asc, d)
				}
			}
		}
	})
}
