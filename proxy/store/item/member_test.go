package item

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/apbridge/apbridge/proxy/store/tables"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

// filtering is a table of items that tests search with filters.
type filtering struct {
	*Table
	*Maintenance
	t   *testing.T
	ctx context.Context
}

func filterOnBoth(t *testing.T, test func(f filtering)) {
	storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		db, err := sqldb.Open(context.Background(), fresh(t), sqldb.Options{Synchronous: "normal"}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		table, maintenance := New(db, nil, TTL{}, tables.NewQuotas(nil, nil))
		test(filtering{table, maintenance, t, context.Background()})
	})
}

func (f filtering) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f filtering) put(key, value string, ns ...string) {
	f.t.Helper()
	f.ok(f.Put(f.ctx, Put{Item: mapping.Item{Namespace: ns, Key: key, Value: []byte(value)}}))
}

// by adds a filter to a query.
func (f filtering) by(filter string, q Query) Query {
	f.t.Helper()
	parsed, err := itemquery.ParseFilter(json.RawMessage(filter))
	f.ok(err)
	q.Keep, q.Members = parsed.Match, parsed.Members()
	return q
}

func (f filtering) keys(q Query) (keys []string) {
	f.t.Helper()
	list, err := f.List(f.ctx, q)
	f.ok(err)
	for _, it := range list {
		keys = append(keys, it.Key)
	}
	return keys
}

// listed reports whether the index of members answers a query.
func (f filtering) listed(q Query) (ok bool) {
	f.t.Helper()
	f.ok(f.Table.db.ReadOne(f.ctx, func(t *sqldb.Tx) (err error) {
		_, ok, err = q.listed(t, reachOf(f.ctx))
		return err
	}))
	return ok
}

// Searches with the index of members find the same as without it, in every order, below every prefix and for every key.
// The index is used only if few items pass.
func TestFiltersFindTheSameByTheIndex(t *testing.T) {
	t.Parallel()
	filterOnBoth(t, func(f filtering) {
		var list []Put
		for n := range 1200 {
			list = append(list, Put{Item: mapping.Item{Namespace: []string{"users", fmt.Sprint("u", n%7)}, Key: fmt.Sprintf("k%04d", n),
				Value: fmt.Appendf(nil, `{"n":%d,"kind":"k%d","all":true,"deep":{"n":%d}}`, n, n%40, n)}})
		}
		f.ok(f.PutAll(f.ctx, list...))
		f.put("many", `{"n":77,`+strings.Repeat(`"x":1,`, 70)+`"kind":"k3"}`, "users", "u1")
		f.put("other", `{"n":77}`, "else!")
		f.put("below", `{"n":77}`, "else", "x")
		f.put("beside", `{"n":77}`, "else")
		for filter, index := range map[string]bool{
			`{"n":77}`: true, `{"kind":"k3","all":true}`: true, `{"n":{"$gte":10,"$lt":20},"all":true}`: true, `{"n":{"$in":[5,7,9,-1]}}`: true,
			`{"$or":[{"n":5},{"n":{"$gt":1190}}]}`: true, `{"kind":{"$gte":"k39"}}`: true, `{"n":"77"}`: true,
			`{"all":true}`: false, `{"n":{"$ne":5}}`: false, `{"deep":{"n":7}}`: false, `{"n":{"$gt":-1}}`: false,
		} {
			for _, q := range []Query{{}, {Limit: 3, Offset: 2}, {SortBy: mapping.SortByKey, Limit: 5}, {SortBy: mapping.SortByKey, Asc: true, Limit: 4, Offset: 1}} {
				if got := f.listed(f.by(filter, Query{})); got != index {
					t.Errorf("%s uses the index: %v", filter, got)
				}
				for _, prefix := range [][]string{nil, {"users"}, {"users", "u1"}, {"else"}} {
					for _, reaches := range [][][]string{nil, {{"users", "u1"}, {"users", "u5"}, {"else!"}, {"else"}}} {
						q.Prefix = prefix
						f.ctx = mapping.WithPrincipal(context.Background(), mapping.Principal{Namespaces: reaches})
						with := f.by(filter, q)
						without := with
						without.Members = nil
						if d := cmp.Diff(f.keys(without), f.keys(with)); d != "" {
							t.Errorf("%s below %v, of %v, sorted by %q: (-without +with the index)\n%s", filter, prefix, reaches, q.SortBy, d)
						}
					}
				}
			}
		}
	})
}

// The index follows its items when they are overwritten or deleted. After writes by a version without the index it is
// not used until those items have been reindexed.
func TestMembersFollowTheirItems(t *testing.T) {
	t.Parallel()
	filterOnBoth(t, func(f filtering) {
		want := func(filter string, index bool, keys ...string) {
			t.Helper()
			q := f.by(filter, Query{})
			if got := f.keys(q); !slices.Equal(got, keys) || f.listed(q) != index {
				t.Errorf("%s finds %v, want %v; uses the index: %v", filter, got, keys, f.listed(q))
			}
		}
		f.put("a", `{"n":1,"m":"x"}`, "ns")
		f.put("b", `{"n":1}`, "ns")
		f.put("a", `{"n":2,"m":"x"}`, "ns")
		f.ok(f.Delete(f.ctx, []string{"ns"}, "b"))
		want(`{"n":1}`, true)
		want(`{"n":2}`, true, "a")
		want(`{"m":"x"}`, true, "a")
		f.rows(2)
		f.ok(f.Exec(f.ctx, `UPDATE items SET value = '{"n":3}', updated_us = updated_us + 1`))
		want(`{"n":3}`, false, "a")
		if n, err := f.Reindex(f.ctx); n != 1 || err != nil {
			t.Errorf("%d items, %v", n, err)
		}
		want(`{"n":3}`, true, "a")
		want(`{"m":"x"}`, true)
		f.rows(1)
	})
}

func (f filtering) rows(want int) {
	f.t.Helper()
	var n int
	f.ok(f.Table.db.ReadOne(f.ctx, func(t *sqldb.Tx) error { return t.Get(`SELECT COUNT(*) FROM item_members`, nil, sqldb.Out{&n}) }))
	if n != want {
		f.t.Errorf("%d rows of members, want %d", n, want)
	}
}
